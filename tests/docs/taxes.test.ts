// Every customer of docs/TAXES.md: its part of a file is applied, its calls are made, its invoices
// and what documents say are compared.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Shell, startShell } from "../cli/support.ts";
import { playStory } from "./play-examples.ts";
import { readExamples } from "./read-examples.ts";

const page = readFileSync(new URL("../../docs/TAXES.md", import.meta.url), "utf8");
const examples = readExamples(page);

let shell: Shell;
beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

test("there is one for each kind of customer, with calls, invoices and its e-invoice", () => {
  expect(examples.map(({ title }) => title)).toEqual([
    "An EU business",
    "An EU consumer",
    "A US customer",
    "An exempt customer",
  ]);
  for (const { title, stories } of examples) {
    expect(stories, title).toHaveLength(1);
    const [{ calls, invoices } = { calls: [], invoices: [] }] = stories;
    expect(invoices.length, title).toBeGreaterThan(0);
    expect(
      calls.some(({ path }) => path.endsWith("/document.xml")),
      title,
    ).toBe(true);
  }
});

test.each(examples)("$title", async (example) => {
  for (const story of example.stories) await playStory(shell, example, story);
});
