// Every recipe of docs/PRICING-COOKBOOK.md: its file is applied, its calls are made, its invoices
// are compared.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Shell, startShell } from "../cli/support.ts";
import { playStory } from "./play-examples.ts";
import { readExamples } from "./read-examples.ts";

const RECIPES_MIN = 12;

const page = readFileSync(new URL("../../docs/PRICING-COOKBOOK.md", import.meta.url), "utf8");
const recipes = readExamples(page);

let shell: Shell;
beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

test("there are twelve or more, each with a whole file, calls and invoices", () => {
  expect(recipes.length).toBeGreaterThanOrEqual(RECIPES_MIN);
  const blocks = page.match(/^```yaml$/gm) ?? [];
  expect(blocks).toHaveLength(recipes.length);
  for (const { title, yaml, stories } of recipes) {
    expect(yaml, title).toMatch(
      /^version: "1"\norg: default\nworkspace: default\nproject: default\n/,
    );
    expect(stories.length, title).toBeGreaterThan(0);
    for (const { invoices } of stories) expect(invoices.length, title).toBeGreaterThan(0);
  }
});

test.each(recipes)("$title", async (recipe) => {
  for (const story of recipe.stories) await playStory(shell, recipe, story);
});
