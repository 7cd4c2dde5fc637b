// Reading bodies: what is long, deep or inexact costs its length at most, and is refused.

import { expect, test } from "vitest";
import { NUMBER_CHARS_MAX } from "../../../src/domain/json-values.ts";
import { parseJson, parseLargeJson } from "../../../src/http/request/json.ts";
import { slowness } from "../../support/processes.ts";

const CHARS = 64 * 1024;

function read(text: string): unknown {
  return parseJson(Buffer.from(text));
}

/** Of the processor, in ms: a busy machine may let the process wait meanwhile. */
function timed(act: () => void): number {
  const start = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

test.each([
  ["zeros before the last digit", `1.${"0".repeat(CHARS)}1`],
  ["zeros at the end", `1.${"0".repeat(CHARS)}`],
  ["zeros in runs", `1.${"0001".repeat(CHARS / 4)}`],
  ["an exponent of zeros", `1e${"0".repeat(CHARS)}1`],
  ["points and signs", "1.+-e".repeat(CHARS / 5)],
])("a number of 64 KiB with %s is refused within a moment", (_, number) => {
  let error: unknown;
  const ms = timed(() => {
    try {
      read(`[${number}]`);
    } catch (caught) {
      error = caught;
    }
  });
  expect(error).toMatchObject({ code: "validation_error" });
  // When the time grew with the square of the length, the first of them took 10 seconds.
  expect(ms).toBeLessThan(500 * Math.min(slowness(), 5));
});

test(`a number of ${NUMBER_CHARS_MAX} characters is read, one more is refused`, () => {
  const number = (chars: number) => `1.${"0".repeat(chars - 2)}`;
  expect(read(number(NUMBER_CHARS_MAX))).toBe(1);
  expect(() => read(number(NUMBER_CHARS_MAX + 1))).toThrow(/cannot be kept exactly/);
});

test.each(["0", "-0.5", "1.50", "100000000000000000000e-10", "9007199254740991", "1E+2"])(
  "the number %s is read as it is",
  (text) => expect(read(text)).toBe(Number(text)),
);

test("others are served between the steps of a large body", async () => {
  const value = { events: Array.from({ length: 10_000 }, (_, i) => ({ id: `e${i}`, n: i })) };
  let turns = 0;
  const count = () => {
    turns += 1;
    if (!isRead) setImmediate(count);
  };
  let isRead = false;
  setImmediate(count);
  expect(await parseLargeJson(Buffer.from(JSON.stringify(value)))).toEqual(value);
  isRead = true;
  expect(turns).toBeGreaterThanOrEqual(2);
});

test("a large body is refused as a small one is", async () => {
  const large = (text: string) => parseLargeJson(Buffer.from(text));
  await expect(large("{")).rejects.toMatchObject({ code: "invalid_json" });
  await expect(large("[".repeat(40))).rejects.toMatchObject({ code: "validation_error" });
  await expect(large('["\\u0000"]')).rejects.toMatchObject({ code: "validation_error" });
  await expect(parseLargeJson(Buffer.from([0xff]))).rejects.toMatchObject({
    code: "invalid_json",
  });
});
