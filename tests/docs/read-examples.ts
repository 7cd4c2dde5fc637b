// Reads the worked examples out of a page of prose: a section's prices as YAML, its calls with the
// instants at which they are made, and the tables that say what is billed.

import type { Body } from "../support/app.ts";

export type Call = {
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly body: Body | undefined;
  /** A status, words of the answer, or `field=value` of its record. */
  readonly expected: readonly string[];
};

export type InvoiceTable = {
  readonly issued: string;
  readonly lines: readonly (readonly [name: string, cents: string])[];
  /** In italics: what coupons took, then taxes with their percent and base. */
  readonly between: readonly (readonly [name: string, cents: string])[];
  readonly total: string;
  /** Other rows in bold, where the page has them: credit that is used, payments, what is due. */
  readonly sums: readonly (readonly [name: string, cents: string])[];
};

/** Calls from the first to the last, and every invoice they make. */
export type Story = { readonly calls: readonly Call[]; readonly invoices: readonly InvoiceTable[] };

/** What a month of usage costs, a row for each customer. */
export type UsageTable = {
  readonly metric: string;
  readonly rows: readonly { readonly values: readonly string[]; readonly cents: string }[];
};

export type Example = {
  readonly title: string;
  readonly yaml: string;
  readonly stories: readonly Story[];
  readonly usage: readonly UsageTable[];
};

type Part =
  | { readonly kind: "yaml"; readonly text: string }
  | { readonly kind: "calls"; readonly calls: readonly Call[] }
  | { readonly kind: "invoice"; readonly invoice: InvoiceTable }
  | { readonly kind: "usage"; readonly usage: UsageTable };

const HEADING = /^#{2,3} (.+)$/;
const CALL =
  /^(\d{4}-\d\d-\d\d(?:T[\d:.]+)?) +(GET|POST|PUT|PATCH|DELETE) (\S+)(?: (\{.*\}))?(?: → (.+))?$/;
/** Words are parted by spaces, but for those in quotes. */
const WORD = /(?:[^\s"]|"[^"]*")+/g;
const INVOICE = /^Invoice of (\d{4}-\d\d-\d\d)$/;

/** The sections that have prices, each to be played on its own. */
export function readExamples(markdown: string): Example[] {
  return sectionsOf(markdown).flatMap(({ title, lines }) => {
    const parts = partsOf(title, lines);
    if (parts.length === 0) return [];
    const [first, ...rest] = parts;
    if (first?.kind !== "yaml" || rest.some(({ kind }) => kind === "yaml")) {
      throw new Error(`"${title}" must begin with its prices and have them once.`);
    }
    return [{ title, yaml: first.text, ...storiesOf(title, rest) }];
  });
}

function sectionsOf(markdown: string): { title: string; lines: string[] }[] {
  const sections: { title: string; lines: string[] }[] = [];
  let isCode = false;
  for (const line of markdown.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    const [, title] = isCode ? [] : (HEADING.exec(line) ?? []);
    if (title !== undefined) sections.push({ title, lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections;
}

function partsOf(title: string, lines: readonly string[]): Part[] {
  const parts: Part[] = [];
  let at = 0;
  const take = (isIn: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && isIn(lines[at] ?? "")) at++;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (line.startsWith("```")) {
      at++;
      const code = take((inside) => !inside.startsWith("```"));
      at++;
      if (line === "```yaml") parts.push({ kind: "yaml", text: code.join("\n") });
      if (line === "```text") parts.push({ kind: "calls", calls: callsOf(title, code) });
    } else if (line.startsWith("| ")) {
      parts.push(...tableOf(take((row) => row.startsWith("|")).map(cellsOf)));
    } else {
      at++;
    }
  }
  return parts;
}

function cellsOf(row: string): string[] {
  return row
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Lines that begin with a space go on with the call before. */
function callsOf(title: string, lines: readonly string[]): Call[] {
  const whole = lines.join("\n").replaceAll(/\n\s+/g, " ").split("\n");
  return whole.map((line) => {
    const [, at, method, path, body, expected = ""] = CALL.exec(line) ?? [];
    if (at === undefined || method === undefined || path === undefined) {
      throw new Error(`"${title}": "${line}" is no call.`);
    }
    const sent = body === undefined ? undefined : (JSON.parse(body) as Body);
    const words = (expected.match(WORD) ?? []).map((word) => word.replaceAll('"', ""));
    return { at, method, path, body: sent, expected: words };
  });
}

/** Only tables with cents are examples. */
function tableOf([head = [], , ...rows]: readonly string[][]): Part[] {
  const [first = "", , last] = head;
  if (last !== "Cents") return [];
  const [, issued] = INVOICE.exec(first) ?? [];
  if (issued !== undefined) return [{ kind: "invoice", invoice: invoiceOf(issued, rows) }];
  const usage = rows.map(([values = "", , cents = ""]) => ({ values: values.split(" + "), cents }));
  return [{ kind: "usage", usage: { metric: first, rows: usage } }];
}

function invoiceOf(issued: string, rows: readonly string[][]): InvoiceTable {
  const found = rows.map(([name = "", , cents = ""]) => ({ name, cents: bare(cents) }));
  const named = (isIn: (name: string) => boolean) =>
    found.filter(({ name }) => isIn(name)).map(({ name, cents }) => [bare(name), cents] as const);
  const bold = named((name) => name.startsWith("**"));
  return {
    issued,
    lines: named((name) => !name.startsWith("*")),
    between: named((name) => /^\*[^*]/.test(name)),
    total: bold.find(([name]) => name === "Total")?.[1] ?? "missing",
    sums: bold.filter(([name]) => name !== "Total"),
  };
}

function bare(cell: string): string {
  return cell.replaceAll("*", "");
}

function storiesOf(
  title: string,
  parts: readonly Part[],
): { stories: readonly Story[]; usage: readonly UsageTable[] } {
  const stories: { calls: readonly Call[]; invoices: InvoiceTable[] }[] = [];
  const usage: UsageTable[] = [];
  for (const part of parts) {
    if (part.kind === "calls") stories.push({ calls: part.calls, invoices: [] });
    if (part.kind === "usage") usage.push(part.usage);
    if (part.kind !== "invoice") continue;
    const story = stories.at(-1);
    if (story === undefined) throw new Error(`"${title}" has an invoice before any call.`);
    story.invoices.push(part.invoice);
  }
  return { stories, usage };
}
