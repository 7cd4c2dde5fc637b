// The worked examples of docs/BILLING.md, played.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Shell, startShell } from "../cli/support.ts";
import { playStory, playUsage } from "./play-examples.ts";
import { readExamples } from "./read-examples.ts";

const page = readFileSync(new URL("../../docs/BILLING.md", import.meta.url), "utf8");
const examples = readExamples(page);

const WANTED = [
  "Anniversaries",
  "Trials",
  "A start that is set",
  "An end that is set",
  "Standard, with free units",
  "Graduated",
  "Volume",
  "Package",
  "Percentage",
  "Dimensions",
  "Minimums",
  "Levels that last",
  "Quantities",
  "Base fee in advance",
  "Change of plan",
  "Prices of one's own",
  "The order of lines",
  "One invoice for what is due together",
  "Late usage",
  "The window of late usage",
  "Taxes",
  "Coupons",
  "Grants and wallets",
  "Credit notes",
  "One-off invoices",
  "Write-off",
  "Refunds",
  "Payment links",
  "One invoice, by hand",
  "The same invoice, with money",
];

let shell: Shell;
beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

describe.each(examples)("$title", (example) => {
  if (example.usage.length > 0) {
    test.each(example.usage)("a month of $metric costs what the table says", (table) =>
      playUsage(shell, example, table),
    );
  }
  if (example.stories.length > 0) {
    test.each(example.stories.map((story, i) => [i + 1, story] as const))(
      "the invoices of story %i are those of the page",
      (_, story) => playStory(shell, example, story),
    );
  }
});

test("every model and every way to run has its example", () => {
  expect(examples.map(({ title }) => title)).toEqual(WANTED);
  expect(examples.filter(({ usage, stories }) => usage.length + stories.length === 0)).toEqual([]);
});
