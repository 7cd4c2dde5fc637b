// What the table of a PDF is made of, and what of it stays together when a page ends: a row and its
// first part, a heading and what follows it, a subtotal and the row before it.

import type { InvoiceDocument } from "../../../domain/documents/document.ts";
import type { DocumentLine } from "../../../domain/documents/lines.ts";

/** So many rows move to the next page with totals that do not fit. */
const ROWS_WITH_TOTALS = 2;

/** What is never broken over two pages: a row as such, one of its parts, a heading, a subtotal. */
export type Block = LineBlock | HeadBlock | SumBlock;

export type LineBlock = {
  readonly kind: "line";
  readonly line: DocumentLine;
  readonly part?: DocumentLine["parts"][number];
  /** Whether it is the last block of its row. */
  readonly isLast: boolean;
  /** The heading that it stands under; "" without. */
  readonly under: string;
};

/** The heading of a subscription, or of one of its periods. */
export type HeadBlock = {
  readonly kind: "of" | "when";
  readonly title: string;
  readonly detail: string;
};

export type SumBlock = { readonly kind: "sum"; readonly label: string; readonly amount: string };

export function blocksOf({
  lines,
  sections,
}: Pick<InvoiceDocument, "lines" | "sections">): Block[] {
  if (sections.length === 0) return lines.flatMap((line) => lineBlocks(line, ""));
  return sections.flatMap(({ heading, parts, subtotal }): Block[] => [
    ...(heading === undefined ? [] : [{ kind: "of" as const, ...heading }]),
    ...parts.flatMap(({ title, lines }): Block[] => [
      ...(title === "" ? [] : [{ kind: "when" as const, title, detail: "" }]),
      ...lines.flatMap((line) => lineBlocks(line, heading?.title ?? title)),
    ]),
    ...(subtotal === undefined ? [] : [{ kind: "sum" as const, ...subtotal }]),
  ]);
}

function lineBlocks(line: DocumentLine, under: string): LineBlock[] {
  const last = line.parts.length - 1;
  const parts = line.parts.map((part, i) => {
    return { kind: "line" as const, line, part, isLast: i === last, under };
  });
  return [{ kind: "line", line, isLast: parts.length === 0, under }, ...parts];
}

/** How many blocks from there on are not parted. */
export function keptFrom(blocks: readonly Block[], from: number): number {
  const [block, next] = [blocks[from], blocks[from + 1]];
  if (block === undefined) return 0;
  if (isHead(block)) return 1 + keptFrom(blocks, from + 1);
  if (block.kind === "sum") return 1;
  if (block.part === undefined && isPart(next)) return 1 + keptFrom(blocks, from + 1);
  return block.isLast && next?.kind === "sum" ? 2 : 1;
}

/**
 * Where the last rows begin, which are not parted from the totals; the last part of a row alone is
 * not moved.
 */
export function tailOf(blocks: readonly Block[]): number {
  const [first, second] = blocks.slice(-ROWS_WITH_TOTALS);
  const isTorn = isPart(first) && second?.kind === "line" && second.part === undefined;
  let start = blocks.length - (isTorn ? 1 : ROWS_WITH_TOTALS);
  while (start > 0 && isHead(blocks[start - 1])) start -= 1;
  return start;
}

function isPart(block: Block | undefined): boolean {
  return block?.kind === "line" && block.part !== undefined;
}

export function isHead(block: Block | undefined): block is HeadBlock {
  return block?.kind === "of" || block?.kind === "when";
}
