// Only what has a fault is refused of a batch; what is no JSON refuses the whole.

import { describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { parseJson, parseLargeJson } from "../../../src/http/request/json.ts";

const GOOD = '{"id":"a","n":1.5}';
const DEEP = `{"x":${"[".repeat(60)}1e999${"]".repeat(60)}}`;

const FAULTS: readonly [string, string, RegExp][] = [
  ["U+0000", '{"x":"a\\u0000"}', /U\+0000/],
  ["half a pair", '{"x":"\\ud800"}', /surrogates/],
  ["a key with U+0000", '{"\\u0000":1}', /U\+0000/],
  ["a number of 17 digits", '{"order":9007199254740993}', /9007199254740993 cannot be kept/],
  ["a number beyond all", '{"x":{"y":[1e400]}}', /1e400 cannot be kept/],
  ["nothing but a number", "12345678901234567890", /cannot be kept/],
  ["too many levels", DEEP, /at most 32 levels/],
];

describe.each([
  ["small", (text: string) => Promise.resolve().then(() => parseJson(Buffer.from(text), "list"))],
  ["large", (text: string) => parseLargeJson(Buffer.from(text), "list")],
])("of a %s body", (_, read) => {
  test.each(FAULTS)("a member with %s is refused alone", async (_, member, message) => {
    const body = await read(`{"other":[2],"list":[${GOOD},${member},${GOOD}]}`);
    const good = JSON.parse(GOOD);
    expect(body).toEqual({ other: [2], list: [good, expect.any(Refusal), good] });
    const { list } = body as { list: Refusal[] };
    expect(list[1]).toMatchObject({
      code: "validation_error",
      message: expect.stringMatching(message),
    });
  });

  test("what was sent of it stays with it, by which two requests are told apart", async () => {
    const texts = ["a\\u0000", "b\\u0000"].map(async (text) =>
      JSON.stringify(await read(`{"list":[{"x":"${text}"}]}`)),
    );
    const [one, other] = await Promise.all(texts);
    expect(one).not.toBe(other);
  });

  test("each is refused that has one", async () => {
    const members = FAULTS.map(([, member]) => member).join(`,${GOOD},`);
    const { list } = (await read(`{"list":[${members}]}`)) as { list: unknown[] };
    expect(list.map((member) => member instanceof Refusal)).toEqual(
      list.map((_, i) => i % 2 === 0),
    );
  });

  test.each(FAULTS)("%s elsewhere refuses all of it", async (_, value) => {
    for (const body of [`{"list":[${GOOD}],"more":${value}}`, `[${value}]`, `{"list":${value}}`]) {
      await expect(read(body)).rejects.toMatchObject({ code: "validation_error" });
    }
  });

  test.each([
    `{"list":[${GOOD},{"x":9007199254740993}`,
    `{"list":[${GOOD},{"x":0123456789012345678}]}`,
    `{"list":[${GOOD},{"x":-9007199254740993-1}]}`,
    `{"list":[{"x":1e400 "y":2}]}`,
    `{"list":[${"[".repeat(60)}`,
  ])("no JSON: %s", async (text) => {
    await expect(read(text)).rejects.toMatchObject({ code: "invalid_json" });
  });
});
