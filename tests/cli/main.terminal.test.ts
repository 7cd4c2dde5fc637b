// The tool in a real pseudo-terminal: what somebody who sits there sees.

import { afterAll, beforeAll, expect, test } from "vitest";
import { makeCustomer, makePlan, makeSubscription } from "../support/records.ts";
import { type Shell, startShell } from "./support.ts";
import { HAS_SCRIPT, inTerminal, toolLine } from "./terminal.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

const CONTROL = "\\u001b\\[(\\d*)([A-Za-z])";
const PARTS = new RegExp(`${CONTROL}|[^\\u001b]`, "gs");

/** What stands on the screen: control sequences move the cursor, and erase. */
function screenOf(typed: string): string {
  const lines: string[] = [""];
  let column = 0;
  for (const [part, count = "", act] of typed.matchAll(PARTS)) {
    const line = lines.at(-1) ?? "";
    if (part === "\n") {
      lines.push("");
      column = 0;
    } else if (part === "\r") column = 0;
    else if (act === "G") column = Number(count || "1") - 1;
    else if (act === "J" || act === "K") lines[lines.length - 1] = line.slice(0, column);
    else if (act === undefined) {
      lines[lines.length - 1] = line.slice(0, column) + part + line.slice(column + 1);
      column += 1;
    }
  }
  return lines.join("\n");
}

/** Nothing is to be drawn behind a question; what is would be there by then. */
const DRAWN_MS = 200;

/** Types the answer once the question has been drawn; resolves to the screen just before it. */
async function asked(args: readonly string[], question: string, answer: string): Promise<string> {
  const child = inTerminal(shell, toolLine(args));
  let seen = "";
  const before = await new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => reject(new Error(`It ended without asking: ${seen}`)));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      seen += text;
      if (seen.includes(question)) setTimeout(() => resolve(screenOf(seen)), DRAWN_MS);
    });
  });
  child.stdin.write(`${answer}\n`);
  await new Promise((resolve) => child.once("close", resolve));
  return before;
}

test.skipIf(!HAS_SCRIPT)(
  "a question stays visible until it is answered (needs script)",
  async () => {
    const { app } = shell;
    const plan = await makePlan(app, { code: "asked", amount_cents: 1000 });
    const customer = await makeCustomer(app);
    await makeSubscription(app, { plan_id: plan.id, customer_id: customer.id });
    const file = shell.file(
      "repriced.yaml",
      `version: "1"\norg: acme\nworkspace: main\nproject: test\nplans:\n  - {code: asked, name: ${plan.name}, interval: monthly, amount_cents: 2000, currency: USD}\n`,
    );
    const screen = await asked(["sync", file], "Change these prices? [y/N]", "n");
    expect(screen).toContain("Change these prices? [y/N]");
    const { plan: after } = await app.get(`/v1/plans/${plan.id}`);
    expect(after.amount_cents).toBe(1000);
  },
  30_000,
);
