// What every command loads when it starts: little, because each start pays for it.

import { expect, test } from "vitest";
import { loadedWith } from "../support/chunks.ts";

test("a command starts without YAML, schemas, validators and measures of text", () => {
  expect(loadedWith("src/cli/main.ts").packages).toEqual(["commander"]);
});
