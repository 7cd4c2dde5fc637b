// The lines of a document in a PDF: the head of the table is repeated on each page, a row keeps its
// first part, and the last rows stay with the totals.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { InvoiceDocument } from "../../../domain/documents/document.ts";
import type { DocumentLine } from "../../../domain/documents/lines.ts";
import {
  type Block,
  blocksOf,
  type HeadBlock,
  isHead,
  keptFrom,
  type LineBlock,
  type SumBlock,
  tailOf,
} from "./blocks.ts";
import { type Column, GAP, INK, RULE, type Sheet, STYLES } from "./sheet.ts";
import type { Tag } from "./tags.ts";
import { type Align, type Style, Typesetter } from "./typesetter.ts";

const COLUMN = { units: 84, rate: 92, amount: 96 } as const;
const CELL_GAP = 10;
/** How many rows stay with the head of the table. */
const ROWS_WITH_HEAD = 2;
const BELOW_HEAD = 6;
/** How far the parts of a row stand in. */
const PART_INDENT = 10;
const CONTINUED_WIDTH = 50;
const PADDING = { above: 4, part: 2, below: 5, of: 14, when: 8 } as const;
/** The rows after which other requests get a turn. */
const ROWS_AT_ONCE = 10;

export const NOTE_HEIGHT = Typesetter.height(STYLES.soft) * 3;

type Wrapped = { readonly titles: readonly string[]; readonly details: readonly string[] };

export type TableContent = Pick<InvoiceDocument, "lines" | "sections" | "has_units"> & {
  readonly totals_height: number;
};

export class Table {
  readonly #sheet: Sheet;
  readonly #typesetter: Typesetter;
  readonly #content: TableContent;
  readonly #wraps = new Map<DocumentLine, Wrapped>();
  readonly #table: Tag;
  /** The title cell of the row being drawn: it takes the parts too, which are no rows of cells. */
  #title: Tag;

  constructor(sheet: Sheet, content: TableContent) {
    this.#sheet = sheet;
    this.#typesetter = sheet.typesetter;
    this.#content = content;
    this.#table = sheet.tags.begin("Table");
    this.#title = this.#table;
  }

  async draw(): Promise<void> {
    const blocks = blocksOf(this.#content);
    const tail = tailOf(blocks);
    this.#makeRoomForHead(blocks.slice(0, Math.max(ROWS_WITH_HEAD, keptFrom(blocks, 0))));
    const row = this.#sheet.tags.begin("TR", this.#table);
    this.#head((draw) => {
      this.#sheet.tags.within(this.#sheet.tags.begin("TH", row, "Column"), draw);
    });
    for (const [i, block] of blocks.entries()) {
      const isBelowHead = isHead(blocks[i - 1]);
      if (i > 0 && i === tail) this.#keepWithTotals(blocks.slice(i));
      // What follows a heading has its room since that was drawn.
      if (!isBelowHead) this.#makeRoomFor(blocks.slice(i, i + keptFrom(blocks, i)));
      this.#draw(block, isBelowHead);
      // A long invoice must not keep other requests waiting until it is drawn.
      if (i % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await nextTurn();
    }
  }

  #columns() {
    const { left, right } = this.#sheet;
    const amount = { x: right - COLUMN.amount, width: COLUMN.amount };
    const rate = { x: amount.x - CELL_GAP - COLUMN.rate, width: COLUMN.rate };
    const units = { x: rate.x - CELL_GAP - COLUMN.units, width: COLUMN.units };
    const { x: end } = this.#content.has_units ? units : amount;
    const title = { x: left, width: end - CELL_GAP - left };
    return { title, units, rate, amount };
  }

  /** The head does not stand alone at the foot of a page. */
  #makeRoomForHead(blocks: readonly Block[]): void {
    const rows = blocks.reduce((sum, block) => sum + this.#heightOf(block), 0);
    this.#sheet.makeRoom(Typesetter.height(STYLES.label) + BELOW_HEAD + rows);
  }

  /** `cell` has each text drawn: as a head of the table, or on further pages as decoration. */
  #head(cell: (draw: () => void) => void): void {
    const { title, units, rate, amount } = this.#columns();
    this.#sheet.y += Typesetter.height(STYLES.label);
    const { y } = this.#sheet;
    const draw = (text: string, column: Column, align: Align) =>
      cell(() => this.#typesetter.line(text, { ...column, y }, STYLES.label, align));
    draw("Description", title, "left");
    if (this.#content.has_units) {
      draw("Units", units, "right");
      draw("Price", rate, "right");
    }
    draw("Amount", amount, "right");
    this.#sheet.y += BELOW_HEAD;
    this.#sheet.rule(INK, 1);
  }

  #draw(block: Block, isBelowHead: boolean): void {
    if (isHead(block)) this.#heading(block, isBelowHead);
    else if (block.kind === "sum") this.#sum(block);
    else this.#line(block);
  }

  #line({ line, part, isLast }: LineBlock): void {
    if (part === undefined) this.#row(line);
    else this.#part(part);
    if (!isLast) return;
    this.#sheet.y += PADDING.below;
    this.#sheet.rule(RULE, 0.5);
  }

  /** A subscription stands in bold with its plan behind it; a period is small. */
  #heading(block: HeadBlock, isBelowHead: boolean): void {
    const { tags } = this.#sheet;
    const row = tags.begin("TR", this.#table);
    tags.within(tags.begin("TH", row, "Row"), () => {
      if (block.kind === "of") this.#subscription(block);
      else this.#period(block, isBelowHead);
    });
  }

  #subscription({ title, detail }: HeadBlock): void {
    const { left, width } = this.#sheet;
    this.#sheet.y += PADDING.of;
    for (const text of this.#typesetter.lines(title, width, STYLES.bold)) {
      this.#text(text, { x: left, width }, STYLES.bold);
    }
    for (const text of this.#typesetter.lines(detail, width, STYLES.soft)) {
      this.#text(text, { x: left, width }, STYLES.soft);
    }
    this.#sheet.y += PADDING.below;
    this.#sheet.rule(RULE, 0.5);
  }

  #period({ title }: HeadBlock, isBelowHead: boolean): void {
    const { left, width } = this.#sheet;
    this.#sheet.y += isBelowHead ? PADDING.above : PADDING.when;
    for (const text of this.#typesetter.lines(title, width, STYLES.label)) {
      this.#text(text, { x: left, width }, STYLES.label);
    }
  }

  #sum({ label, amount }: SumBlock): void {
    const { amount: column } = this.#columns();
    const x = this.#sheet.left;
    const { tags } = this.#sheet;
    const row = tags.begin("TR", this.#table);
    this.#sheet.y += PADDING.above + Typesetter.height(STYLES.body) - 2;
    const at = { x, y: this.#sheet.y, width: column.x - CELL_GAP - x };
    tags.within(tags.begin("TH", row, "Row"), () => {
      this.#typesetter.line(label, at, STYLES.soft, "right");
    });
    const y = this.#sheet.y;
    this.#sheet.as(
      "TD",
      () => this.#typesetter.line(amount, { ...column, y }, STYLES.bold, "right"),
      row,
    );
    this.#sheet.y += PADDING.below;
  }

  #row(line: DocumentLine): void {
    const { title, units, rate, amount } = this.#columns();
    const { titles, details } = this.#wrapped(line);
    this.#sheet.y += PADDING.above;
    const y = this.#sheet.y + Typesetter.height(STYLES.body) - 2;
    const { tags } = this.#sheet;
    const row = tags.begin("TR", this.#table);
    this.#title = tags.begin("TH", row, "Row");
    const cells = this.#content.has_units
      ? [[line.units, units] as const, [line.rate, rate] as const, [line.amount, amount] as const]
      : [[line.amount, amount] as const];
    for (const [text, column] of cells) {
      const draw = () => this.#typesetter.line(text, { ...column, y }, STYLES.body, "right");
      this.#sheet.as("TD", draw, row);
    }
    tags.within(this.#title, () => {
      for (const text of titles) this.#text(text, title, STYLES.body);
      for (const text of details) this.#text(text, title, STYLES.soft);
    });
  }

  #text(text: string, column: Column, style: Style): void {
    this.#sheet.y += Typesetter.height(style);
    this.#typesetter.line(text, { ...column, y: this.#sheet.y - 2 }, style, "left");
  }

  /** Draws a part, as wide as the columns before the amount: so most stand on one line. */
  #part({ text, amount }: DocumentLine["parts"][number]): void {
    const { x, width } = this.#partColumn();
    this.#sheet.y += PADDING.part;
    this.#sheet.tags.within(this.#title, () => {
      this.#partLines(text).forEach((line, i) => {
        this.#text(line, { x, width }, STYLES.soft);
        const at = { ...this.#columns().amount, y: this.#sheet.y - 2 };
        if (i === 0) this.#typesetter.line(amount, at, STYLES.soft, "right");
      });
    });
  }

  #partColumn() {
    const x = this.#sheet.left + PART_INDENT;
    return { x, width: this.#columns().amount.x - CELL_GAP - x };
  }

  #partLines(text: string): string[] {
    return this.#typesetter.lines(text, this.#partColumn().width, STYLES.soft);
  }

  /** The lines of a row, kept: it is measured before it is drawn, and breaking lines is slow. */
  #wrapped(line: DocumentLine): Wrapped {
    const known = this.#wraps.get(line);
    if (known !== undefined) return known;
    const { width } = this.#columns().title;
    const lines = (text: string, style: Style) => this.#typesetter.lines(text, width, style);
    const titles = lines(line.title, STYLES.body);
    const details = line.details.flatMap((detail) => lines(detail, STYLES.soft));
    this.#wraps.set(line, { titles, details });
    return { titles, details };
  }

  #heightOf(block: Block): number {
    if (block.kind === "sum") {
      return PADDING.above + Typesetter.height(STYLES.body) + PADDING.below;
    }
    if (block.kind !== "line") return this.#heightOfHead(block);
    const { line, part, isLast } = block;
    const below = isLast ? PADDING.below : 0;
    const soft = Typesetter.height(STYLES.soft);
    if (part !== undefined) return PADDING.part + this.#partLines(part.text).length * soft + below;
    const { titles, details } = this.#wrapped(line);
    const text = titles.length * Typesetter.height(STYLES.body) + details.length * soft;
    return PADDING.above + text + below;
  }

  #heightOfHead({ kind, title, detail }: HeadBlock): number {
    const { width } = this.#sheet;
    const heightOf = (text: string, style: Style) =>
      this.#typesetter.lines(text, width, style).length * Typesetter.height(style);
    if (kind === "when") return PADDING.when + heightOf(title, STYLES.label);
    const texts = heightOf(title, STYLES.bold) + heightOf(detail, STYLES.soft);
    return PADDING.of + texts + PADDING.below;
  }

  #makeRoomFor(kept: readonly Block[]): void {
    const height = kept.reduce((sum, block) => sum + this.#heightOf(block), 0);
    const [first] = kept;
    if (first !== undefined && this.#sheet.y + height > this.#sheet.bottom) {
      this.#nextPageFor(first);
    }
  }

  /** Moves the last blocks to the next page with the totals, so that these do not stand alone. */
  #keepWithTotals(blocks: readonly Block[]): void {
    const height = blocks.reduce(
      (sum, block) => sum + this.#heightOf(block),
      this.#content.totals_height,
    );
    const isFull = this.#sheet.y + height + GAP + NOTE_HEIGHT > this.#sheet.bottom;
    const [first] = blocks;
    if (isFull && height < this.#sheet.bottom / 2 && first !== undefined) this.#nextPageFor(first);
  }

  /** Where a row goes on, it is named again, and so is the subscription of a row. */
  #nextPageFor(block: Block): void {
    this.#nextPage();
    if (block.kind !== "line") return;
    const goesOn = [block.under, ...(block.part === undefined ? [] : [block.line.title])];
    const known = goesOn.filter((name) => name !== "").join(", ");
    if (known === "") return;
    this.#sheet.y += PADDING.above;
    const { x, width } = this.#columns().title;
    const [name = ""] = this.#typesetter.lines(known, width - CONTINUED_WIDTH, STYLES.soft);
    this.#sheet.paragraph(`${name}, continued`, x, width, STYLES.soft);
  }

  #nextPage(): void {
    this.#sheet.nextPage();
    this.#head((draw) => this.#sheet.tags.apart(draw));
  }
}
