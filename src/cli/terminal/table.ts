// Tables: columns that line up in every script and, on a terminal, fit its width.

import type { Io } from "./io.ts";
import { clean, type Style, styled } from "./output.ts";
import { cut, type Measure, measureFor } from "./widths.ts";

export type Column<Row> = {
  readonly title: string;
  readonly right?: true;
  /** Left out when no row has a value here. */
  readonly where_set?: true;
  /** A name or another text that is still understood when its end is missing. */
  readonly cut?: true;
  /** Left out where the terminal is too narrow: 1 before anything is cut, then 2, 3, … */
  readonly drop?: number;
  readonly of: (row: Row) => string | number | null | undefined;
  /** How the cell looks where there are colours. */
  readonly style?: (row: Row) => Style | undefined;
};

/** What a table has to know of the terminal. */
export type Screen = Pick<Io, "columns" | "color">;

const GAP = 2;
/** How far texts are cut: before other columns go, after that, and when all must be cut. */
const CUT_FLOORS = [16, 8, 3] as const;

type Shown<Row> = {
  readonly column: Column<Row>;
  readonly texts: readonly string[];
  readonly width: number;
};

type Filled<Row> = Pick<Shown<Row>, "column" | "texts">;

/** `wide`: all of it, also where its lines are longer than those of the terminal. */
export async function tableText<Row>(
  screen: Screen,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  wide = false,
): Promise<string> {
  const filled = fill(columns, rows);
  const measure = await measureFor(filled.flatMap(({ texts }) => texts));
  const wanted = wide ? undefined : screen.columns;
  return render({ columns: wanted, color: screen.color }, filled, rows, measure);
}

/** A small table of plain words, numbers and addresses. */
export function plainTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  return render({ color: false }, fill(columns, rows), rows, (text) => text.length);
}

function fill<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Filled<Row>[] {
  return columns
    .map((column) => ({ column, texts: rows.map((row) => clean(column.of(row))) }))
    .filter(({ column, texts }) => !column.where_set || texts.some((text) => text !== clean(null)));
}

function render<Row>(
  screen: Screen,
  filled: readonly Filled<Row>[],
  rows: readonly Row[],
  measure: Measure,
): string {
  const whole = filled.map(({ column, texts }) => {
    return { column, texts, width: Math.max(...[column.title, ...texts].map(measure)) };
  });
  const shown = screen.columns === undefined ? whole : fitted(whole, screen.columns);
  const titles = shown.map((each) => ({ ...each, text: each.column.title, style: undefined }));
  const lines = rows.map((row, i) =>
    shown.map((each) => ({ ...each, text: each.texts[i] ?? "", style: each.column.style?.(row) })),
  );
  return [titles, ...lines].map((line) => `${lineText(screen, line, measure)}\n`).join("");
}

type Cell<Row> = Shown<Row> & { readonly text: string; readonly style: Style | undefined };

function lineText<Row>(screen: Screen, cells: readonly Cell<Row>[], measure: Measure): string {
  const parts = cells.map(({ column, width, text, style }, i) => {
    const short = cut(text, width, measure);
    const gap = " ".repeat(width - measure(short));
    const look = style === undefined ? short : styled(screen, style, short);
    if (column.right) return gap + look;
    return i === cells.length - 1 ? look : look + gap;
  });
  return parts.join(" ".repeat(GAP)).trimEnd();
}

/** The columns that fit: ids go first, then texts are cut, then others go. */
function fitted<Row>(whole: readonly Shown<Row>[], width_max: number): readonly Shown<Row>[] {
  const [first, second, last] = CUT_FLOORS;
  const isText = ({ column }: Shown<Row>) => column.cut === true;
  if (total(whole) <= width_max) return whole;
  const orders = [...new Set(whole.flatMap(({ column }) => column.drop ?? []))].toSorted();
  let kept = whole;
  for (const order of orders) {
    kept = kept.filter(({ column }) => column.drop !== order);
    const tried = squeezed(kept, width_max, first, isText);
    if (total(tried) <= width_max) return tried;
  }
  let tried = squeezed(squeezed(kept, width_max, second, isText), width_max, last, () => true);
  while (total(tried) > width_max && tried.length > 1) tried = tried.slice(0, -1);
  return tried;
}

function total<Row>(shown: readonly Shown<Row>[]): number {
  return shown.reduce((sum, { width }) => sum + width, GAP * (shown.length - 1));
}

/** Takes from the widest, column by column, until they fit or all are at the floor. */
function squeezed<Row>(
  shown: readonly Shown<Row>[],
  width_max: number,
  floor: number,
  mayCut: (each: Shown<Row>) => boolean,
): readonly Shown<Row>[] {
  const widths = shown.map(({ width }) => width);
  for (let over = total(shown) - width_max; over > 0; over--) {
    const widest = Math.max(...widths.filter((_, i) => shown[i] && mayCut(shown[i])), 0);
    if (widest <= floor) break;
    const at = widths.findLastIndex((width, i) => width === widest && shown[i] && mayCut(shown[i]));
    widths[at] = widest - 1;
  }
  return shown.map((each, i) => ({ ...each, width: widths[i] ?? each.width }));
}
