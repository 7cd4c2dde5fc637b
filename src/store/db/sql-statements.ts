// The statements of a migration's file, one by one: Citus hands the text of a change on to the
// nodes as it came, and takes no more than one statement in it.

/** A comment, a quoted text or name, a body between dollars, or what lies between those. */
const PIECE = /--[^\n]*|'(?:[^']|'')*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|[^-'"$;]+|[-$]|;/g;

/** Split at semicolons that end a statement. What has no statement in it is left out. */
export function statementsOf(text: string): string[] {
  const statements: string[] = [];
  let statement = "";
  let isEmpty = true;
  const end = () => {
    if (!isEmpty) statements.push(statement.trim());
    statement = "";
    isEmpty = true;
  };
  for (const [piece] of text.matchAll(PIECE)) {
    if (piece === ";") {
      end();
      continue;
    }
    statement += piece;
    if (!piece.startsWith("--") && piece.trim() !== "") isEmpty = false;
  }
  end();
  return statements;
}
