// HTML by tagged templates: a value that is put in is escaped, unless it is HTML made here.

export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | readonly Part[] | undefined | false;

/** ``html`<b>${name}</b>` ``: escapes text, joins lists, leaves out undefined and false. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const text = strings.map((string, i) => string + (i < parts.length ? render(parts[i]) : ""));
  return new Html(text.join(""));
}

/** Text between tags, where quotes mean nothing: of a page of samples they are a tenth. */
export function between(text: string): Html {
  return new Html(text.replace(/[&<>]/g, (char) => ESCAPES[char] ?? char));
}

/** A sentence in which `code` stands between backticks. */
export function prose(text: string): Html {
  const pieces = text.split("`");
  return html`${pieces.map((piece, i) => (i % 2 === 1 ? html`<code>${piece}</code>` : piece))}`;
}

function render(part: Part): string {
  if (part === undefined || part === false) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(render).join("");
  return escapeText(String(part));
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ESCAPES[char] ?? char);
}
