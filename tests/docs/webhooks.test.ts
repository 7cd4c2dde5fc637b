// docs/WEBHOOKS.md: its catalogue is what a project sends, message by message, and its ways to
// verify one work in the languages that are installed. UPDATE_DOCS=1 writes the catalogue.

import { readFileSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { RETRIES_MAX, retryDelayMs } from "../../src/domain/webhooks.ts";
import { WEBHOOK_PAYLOADS } from "../../src/schema/webhook-payloads.ts";
import { TEST_EVENT, WEBHOOK_EVENTS } from "../../src/schema/webhooks.ts";
import { type App, sharedApp } from "../support/app.ts";
import { verifiesIn } from "./verification.ts";
import { playEveryEvent } from "./webhook-story.ts";

const PATH = new URL("../../docs/WEBHOOKS.md", import.meta.url);
const MARK = /(?<=<!-- Written by [^\n]+ -->\n)[\s\S]*$/;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

let guide = readFileSync(PATH, "utf8");

describe("the catalogue", () => {
  let app: App;
  let bodies: ReadonlyMap<string, string>;
  beforeAll(async () => {
    app = await sharedApp({ at: "2026-01-01T00:00:00.000Z" });
    bodies = await playEveryEvent(app);
    const anew = guide.replace(MARK, () => catalogue(bodies));
    // Ids are others in each run: alone they are no reason to write.
    if (process.env.UPDATE_DOCS !== "1" || withoutIds(anew) === withoutIds(guide)) return;
    guide = anew;
    writeFileSync(PATH, guide);
  });

  test("every event is played", () => {
    expect([...bodies.keys()].sort()).toEqual([...WEBHOOK_EVENTS, TEST_EVENT].sort());
  });

  test("is what a project sends, but for ids", () => {
    const [written] = MARK.exec(guide) ?? [""];
    const note =
      "docs/WEBHOOKS.md is behind: UPDATE_DOCS=1 npm test -- tests/docs/webhooks.test.ts";
    expect(withoutIds(written), note).toBe(withoutIds(catalogue(bodies)));
  });
});

/** Each id is named by the place at which it first occurs. */
function withoutIds(text: string): string {
  const names = new Map<string, string>();
  return text.replace(UUID, (id) => {
    names.set(id, names.get(id) ?? `id ${names.size + 1}`);
    return names.get(id) ?? "";
  });
}

/** A table of all events, and under it each with what it holds. */
function catalogue(bodies: ReadonlyMap<string, string>): string {
  const test_event = { when: "`POST /v1/webhooks/:id/test` was called." };
  const payloads = Object.entries({ ...WEBHOOK_PAYLOADS, [TEST_EVENT]: test_event });
  const rows = payloads.map(([event, { when }]) => {
    return `| [\`${event}\`](#${event.replaceAll(".", "")}) | ${when} |\n`;
  });
  const sections = payloads.map(([event, { when }]) => {
    const body = JSON.stringify(JSON.parse(bodies.get(event) ?? "null"), null, 2);
    return `\n### ${event}\n\n${when}\n\n\`\`\`json\n${body}\n\`\`\`\n`;
  });
  return ["\n| Event | Sent when |\n|---|---|\n", ...rows, ...sections].join("");
}

test("the table of retries is what is done", () => {
  const rows = guide.split("\n").filter((line) => /^\| (Retry|Wait)/.test(line));
  const [heads = [], waits = []] = rows.map((row) => row.split("|").slice(2, -1));
  const said = heads.flatMap((head, i) => {
    const [first = 0, last = first] = (head.match(/\d+/g) ?? []).map(Number);
    return Array.from({ length: last - first + 1 }, () => minutes(waits[i] ?? ""));
  });
  const done = Array.from({ length: RETRIES_MAX }, (_, i) => retryDelayMs(i + 1, 0) / 60_000);
  expect(said).toEqual(done);
  const hours = done.reduce((sum, each) => sum + each) / 60;
  expect(guide).toContain(`about ${Math.round(hours)} hours`);
});

function minutes(text: string): number {
  const part = (unit: string) => Number(new RegExp(`(\\d+) ${unit}\\b`).exec(text)?.[1] ?? 0);
  return part("h") * 60 + part("min");
}

verifiesIn({
  name: "Node",
  fence: "js",
  file: "verify.mjs",
  command: [process.execPath, "main.mjs"],
  main: "main.mjs",
  program: `import { readFileSync } from "node:fs";
import { verify } from "./verify.mjs";
const { secret, deliveries } = JSON.parse(readFileSync("deliveries.json", "utf8"));
for (const { body, headers } of deliveries) console.log(verify(Buffer.from(body), headers, secret));`,
});

verifiesIn({
  name: "Python",
  fence: "python",
  file: "verify.py",
  command: ["python3", "main.py"],
  main: "main.py",
  program: `import json
from verify import verify
given = json.load(open("deliveries.json", encoding="utf-8"))
for each in given["deliveries"]:
    print(str(verify(each["body"].encode(), each["headers"], given["secret"])).lower())`,
});
