// The lines of a document in a PDF: the head of the table is repeated on each page, a row keeps its
// first part, and the last rows stay with the totals.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { DocumentLine } from "../../../domain/documents/lines.ts";
import { type Column, GAP, INK, RULE, type Sheet, STYLES } from "./sheet.ts";
import type { Tag } from "./tags.ts";
import { type Align, type Style, Typesetter } from "./typesetter.ts";

const COLUMN = { units: 84, rate: 92, amount: 96 } as const;
const CELL_GAP = 10;
/** How many rows move to the next page with totals that do not fit. */
const ROWS_WITH_TOTALS = 2;
/** How many rows stay with the head of the table. */
const ROWS_WITH_HEAD = 2;
const BELOW_HEAD = 6;
/** How far the parts of a row stand in. */
const PART_INDENT = 10;
const CONTINUED_WIDTH = 50;
const PADDING = { above: 4, part: 2, below: 5 } as const;
/** The rows after which other requests get a turn. */
const ROWS_AT_ONCE = 10;

export const NOTE_HEIGHT = Typesetter.height(STYLES.soft) * 3;

/** What is never broken over two pages: a row as such, or one of its parts. */
type Block = {
  readonly line: DocumentLine;
  readonly part?: DocumentLine["parts"][number];
  /** Whether it is the last block of its row. */
  readonly isLast: boolean;
};

function blocksOf(line: DocumentLine): Block[] {
  const last = line.parts.length - 1;
  const parts = line.parts.map((part, i) => ({ line, part, isLast: i === last }));
  return [{ line, isLast: parts.length === 0 }, ...parts];
}

type Wrapped = { readonly titles: readonly string[]; readonly details: readonly string[] };

export type TableContent = {
  readonly lines: readonly DocumentLine[];
  /** Whether there are columns for units and price. */
  readonly has_units: boolean;
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
    const blocks = this.#content.lines.flatMap(blocksOf);
    this.#makeRoomForHead(blocks.slice(0, ROWS_WITH_HEAD));
    const row = this.#sheet.tags.begin("TR", this.#table);
    this.#head((draw) => {
      this.#sheet.tags.within(this.#sheet.tags.begin("TH", row, "Column"), draw);
    });
    for (const [i, block] of blocks.entries()) {
      const rest = blocks.slice(i, i + ROWS_WITH_TOTALS);
      if (i > 0 && isBeforeTotals(blocks, i)) this.#keepWithTotals(rest);
      this.#makeRoomFor(block, rest[1]);
      this.#draw(block);
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

  #draw({ line, part, isLast }: Block): void {
    if (part === undefined) this.#row(line);
    else this.#part(part);
    if (!isLast) return;
    this.#sheet.y += PADDING.below;
    this.#sheet.rule(RULE, 0.5);
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
  #part({ text, amount }: NonNullable<Block["part"]>): void {
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

  #heightOf({ line, part, isLast }: Block): number {
    const below = isLast ? PADDING.below : 0;
    const soft = Typesetter.height(STYLES.soft);
    if (part !== undefined) return PADDING.part + this.#partLines(part.text).length * soft + below;
    const { titles, details } = this.#wrapped(line);
    const text = titles.length * Typesetter.height(STYLES.body) + details.length * soft;
    return PADDING.above + text + below;
  }

  /** Makes room for a block; a row has its first part on its page. */
  #makeRoomFor(block: Block, next: Block | undefined): void {
    const follows = block.part === undefined && next?.part !== undefined;
    const height = this.#heightOf(block) + (follows ? this.#heightOf(next) : 0);
    if (this.#sheet.y + height > this.#sheet.bottom) this.#nextPageFor(block);
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

  /** Starts a page; where a row goes on, it is named again. */
  #nextPageFor({ line, part }: Block): void {
    this.#nextPage();
    if (part === undefined) return;
    this.#sheet.y += PADDING.above;
    const { x, width } = this.#columns().title;
    const [name = ""] = this.#typesetter.lines(line.title, width - CONTINUED_WIDTH, STYLES.soft);
    this.#sheet.paragraph(`${name}, continued`, x, width, STYLES.soft);
  }

  #nextPage(): void {
    this.#sheet.nextPage();
    this.#head((draw) => this.#sheet.tags.apart(draw));
  }
}

/** Whether the rows from here on stay with the totals; the last part of one alone is not moved. */
function isBeforeTotals(blocks: readonly Block[], i: number): boolean {
  const [first, second] = blocks.slice(-ROWS_WITH_TOTALS);
  const isTorn = first?.part !== undefined && second?.part === undefined;
  return i === blocks.length - (isTorn ? 1 : ROWS_WITH_TOTALS);
}
