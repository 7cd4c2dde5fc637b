// What a bench has to say: figures against their bars, printed, kept in results.json, and rendered
// as a table for the documentation.

import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { figure, median, print } from "./stage.ts";
import { noticeOf } from "./stolen.ts";

export type Bar = {
  readonly text: string;
  readonly goal: number;
  readonly at: "least" | "most";
};

export type Figure = {
  readonly name: string;
  /** Null for a figure that is only told. */
  readonly bar: Bar | null;
  readonly unit: string;
  readonly numerator: number;
  /** Null for a figure that is a plain amount. */
  readonly denominator: number | null;
  readonly denominator_unit: string;
  readonly value: number;
  readonly met: boolean | null;
};

/** What a bench may be told. */
export type Options = {
  /** Smaller sizes: shows that the bench works, not how fast anything is. */
  readonly quick: boolean;
  /** How long the soak lasts. */
  readonly minutes: number;
};

export type Bench = (options: Options) => Promise<readonly Figure[]>;

export function atLeast(goal: number): Bar {
  return { text: `>= ${goal}`, goal, at: "least" };
}

export function atMost(goal: number): Bar {
  return { text: `<= ${goal}`, goal, at: "most" };
}

export type Round = readonly [numerator: number, denominator: number];

/** Each round has both sides next to each other in time, so the ratios are taken round by round. */
export function ratio(
  name: string,
  unit: string,
  rounds: readonly Round[],
  bar: Bar | null,
  denominator_unit = unit,
): Figure {
  const numerator = median(rounds.map(([above]) => above));
  const denominator = median(rounds.map(([, below]) => below));
  const value = median(rounds.map(([above, below]) => above / below));
  const met = meets(value, bar);
  return { name, bar, unit, numerator, denominator, denominator_unit, value, met };
}

export function amount(name: string, unit: string, value: number, bar: Bar | null): Figure {
  const plain = { numerator: value, denominator: null, denominator_unit: "" };
  return { name, bar, unit, ...plain, value, met: meets(value, bar) };
}

function meets(value: number, bar: Bar | null): boolean | null {
  if (bar === null) return null;
  return bar.at === "least" ? value >= bar.goal : value <= bar.goal;
}

function verdict(met: boolean | null): string {
  return met === null ? "" : met ? "met" : "missed";
}

export function printFigures(bench: string, figures: readonly Figure[]): void {
  process.stdout.write(`\n${bench}\n`);
  for (const one of figures) {
    const { name, bar, unit, numerator, denominator, denominator_unit, value, met } = one;
    process.stdout.write(` ${name}\n`);
    if (denominator !== null) {
      print("numerator", `${figure(numerator)} ${unit}`);
      print("denominator", `${figure(denominator)} ${denominator_unit}`);
    }
    print(denominator === null ? unit : "ratio", figure(value));
    if (bar !== null) print("bar", `${bar.text}, ${verdict(met)}`);
  }
}

export type NamedFigure = Figure & { readonly bench: string };

export type Results = {
  readonly date: string;
  readonly quick: boolean;
  readonly machine: Readonly<Record<string, string | number>>;
  /** What the host took of the processors' time meanwhile; absent where nothing says so. */
  readonly stolen_percent?: number | undefined;
  readonly figures: readonly NamedFigure[];
};

/** The machine at the moment before anything is measured. */
export function describeMachine(): Record<string, string | number> {
  return {
    platform: `${process.platform} ${process.arch}`,
    cores: availableParallelism(),
    memory_mb: Math.round(totalmem() / 1_048_576),
    node: process.version,
    load_average: loadavg()
      .map((one) => figure(one))
      .join(" "),
  };
}

export function printTable({ figures, quick, stolen_percent }: Results): void {
  const rows = figures.map(({ bench, name, value, bar, met }) => [
    bench,
    name,
    figure(value),
    bar?.text ?? "",
    verdict(met),
  ]);
  const widths = [0, 1, 2, 3].map((i) => Math.max(0, ...rows.map((row) => (row[i] ?? "").length)));
  process.stdout.write(`\n${quick ? "QUICK: the sizes are too small for these to count\n" : ""}`);
  for (const row of rows) {
    const cells = row.map((cell, i) =>
      (i === 2 ? cell.padStart : cell.padEnd).call(cell, widths[i] ?? 0),
    );
    process.stdout.write(`${cells.join("  ").trimEnd()}\n`);
  }
  const barred = figures.filter((one) => one.bar !== null);
  const met = barred.filter((one) => one.met).length;
  process.stdout.write(`${met} of ${barred.length} bars met\n`);
  const notice = noticeOf(stolen_percent);
  if (notice !== undefined) process.stdout.write(`${notice}\n`);
}

/** Built code runs from dist-bench; the files are kept beside the sources. */
const FOLDER = join(import.meta.dirname, "..", "bench");

export type ResultsFile = "results.json" | "results-cluster.json";

export function writeResults(file: ResultsFile, results: Results): void {
  writeFileSync(join(FOLDER, file), `${JSON.stringify(results, null, 2)}\n`);
}

export function readResults(file: ResultsFile): Results {
  return JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Results;
}

export function markdownOf(results: Results): string {
  const { date, quick, machine, stolen_percent, figures } = results;
  const about = Object.entries(machine).map(
    ([name, value]) => `${name.replaceAll("_", " ")} ${value}`,
  );
  const lines = figures.map((one) => {
    const { name, unit, numerator, denominator, denominator_unit, value, bar, met } = one;
    const below = denominator === null ? "" : `${figure(denominator)} ${denominator_unit}`;
    const amounts = [`${figure(numerator)} ${unit}`, below, figure(value)];
    return `| ${[name, ...amounts, bar?.text ?? "", verdict(met)].join(" | ")} |`;
  });
  return [
    `Measured ${date}${quick ? " with --quick, so not to be quoted" : ""}: ${about.join(", ")}.`,
    noticeOf(stolen_percent) ?? [],
    "",
    "| What | Numerator | Denominator | Figure | Bar | |",
    "|---|---|---|---|---|---|",
    lines,
    "",
  ]
    .flat()
    .join("\n");
}
