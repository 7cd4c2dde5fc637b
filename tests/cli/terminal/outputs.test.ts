// Outputs that nobody reads any more, and full disks: what reads ends, what writes does its work
// and does not end with 0.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Writable } from "node:stream";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serviceCommands } from "../../../src/cli/commands/service.ts";
import { buildProgram } from "../../../src/cli/program.ts";
import { effectOf } from "../../../src/cli/terminal/effects.ts";
import { guarded, type Io, newRun } from "../../../src/cli/terminal/io.ts";
import { Outputs } from "../../../src/cli/terminal/outputs.ts";
import { makeCustomer, makeMetric, makePlan, makeSubscription } from "../../support/records.ts";
import { type Ran, type Shell, startShell } from "../support.ts";
import { toolLine } from "../terminal.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

/** Runs the tool with outputs that are closed before it writes. */
async function unread(args: readonly string[], closed: readonly ("stdout" | "stderr")[]) {
  const { child, done } = shell.start(args);
  for (const name of closed) child[name]?.destroy();
  return done;
}

/** A line of a shell with the tool in it; resolves to its own exit code. */
async function line(text: string): Promise<Ran> {
  const child = spawn("bash", ["-c", text], {
    cwd: shell.folder,
    env: { PATH: process.env.PATH ?? "", ...shell.env },
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => {
    out += String(chunk);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    err += String(chunk);
  });
  const [code] = await once(child, "close");
  return { code, out, err };
}

const CLOSED = "dues: The output was closed before all of it was written.";
const ITEMS = 30;

function fileWith(prefix: string, more = ""): string {
  const items = Array.from({ length: ITEMS }, (_, i) => {
    return `  - {code: ${prefix}-${i}, name: Item ${i}, amount_cents: ${i}}\n`;
  });
  const head = 'version: "1"\norg: acme\nworkspace: main\nproject: test\ncatalog:\n';
  return shell.file(`${prefix}.yaml`, `${head}${items.join("")}${more}`);
}

async function itemsOf(prefix: string): Promise<number> {
  const { catalog_items } = await shell.app.get("/v1/catalog");
  return catalog_items.filter(({ code }: { code: string }) => code.startsWith(prefix)).length;
}

describe("a command that writes", () => {
  test("applies all of a file when nobody reads its plan, and does not end with 0", async () => {
    const file = fileWith("closed");
    const ran = await unread(["sync", file], ["stdout"]);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain(`${CLOSED} What the command was to do is done.`);
    expect(await itemsOf("closed")).toBe(ITEMS);
  });

  test("goes on in a pipe whose reader leaves after the first line", async () => {
    const file = fileWith("headed");
    const ran = await line(`${toolLine(["sync", file])} | head -1; exit \${PIPESTATUS[0]}`);
    expect(ran.code).toBe(1);
    expect(await itemsOf("headed")).toBe(ITEMS);
  });

  test("says how a secret is made anew that went into a closed output", async () => {
    const url = "https://example.com/lost";
    const webhooks = `webhooks: [{url: "${url}", events: [invoice.created]}]\n`;
    const ran = await unread(["sync", fileWith("secret", webhooks), "--json"], ["stdout"]);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain(`dues webhooks rotate ${url} makes another`);
  });

  test("sends every event of a file when neither output is read", async () => {
    const customer = await makeCustomer(shell.app);
    const metric = await makeMetric(shell.app, { code: "piped", aggregation_type: "count" });
    const plan = await makePlan(shell.app, { code: "piped" });
    const ids = { customer_id: customer.id, plan_id: plan.id };
    const { id } = await makeSubscription(shell.app, ids);
    const events = Array.from({ length: 600 }, (_, i) =>
      JSON.stringify({ transaction_id: `piped-${i}`, subscription_id: id, code: metric.code }),
    );
    const file = shell.file("piped.ndjson", events.join("\n"));
    const ran = await unread(["events", "import", file, "--batch", "50"], ["stdout", "stderr"]);
    expect(ran.code).toBe(1);
    await shell.app.get("/v1/events/piped-599");
  });

  test("keeps the exit code of a failure when its output is closed", async () => {
    const ran = await unread(["customers", "create", "--external-id", "x"], ["stdout"]);
    expect(ran.code).toBe(64);
  });

  test("writes its file whole when nobody reads what it says", async () => {
    const file = `${shell.folder}/unread.csv`;
    const ran = await unread(["export", "events", "-o", file], ["stdout", "stderr"]);
    expect(ran.code).toBe(1);
    expect(readFileSync(file, "utf8")).toMatch(/^timestamp,transaction_id,/);
  });
});

describe("a command that reads", () => {
  test("ends quietly with 0 when its reader has enough", async () => {
    const ran = await unread(["catalog", "list", "--all"], ["stdout"]);
    expect(ran).toEqual({ code: 0, out: "", err: "" });
    const dry = await unread(["sync", fileWith("dry"), "--dry-run"], ["stdout"]);
    expect(dry.err).toBe("");
    expect(await itemsOf("dry")).toBe(0);
  });

  test("keeps the exit code of a failure that nobody read of", async () => {
    const ran = await unread(["customers", "get", "ext:nobody"], ["stderr"]);
    expect(ran.code).toBe(1);
  });

  test.each([
    [["--help"]],
    [["schema"]],
    [["export"]],
    [["catalog", "list"]],
    [["export", "events"]],
    [["completion", "bash"]],
  ])("tells in a sentence that the disk is full: dues %s", async (args) => {
    const ran = await line(`${toolLine(args)} > /dev/full`);
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(
      /^(There are more.*\n)?dues: The output cannot be written: ENOSPC.*\.\n$/,
    );
  });
});

const program = buildProgram({} as Io, serviceCommands({} as Io));

/** Every command that does something, by the words that lead to it. */
function actionsOf(at: Command, path: readonly string[] = []): [string, readonly string[]][] {
  const inner = at.commands.flatMap((each) => actionsOf(each, [...path, each.name()]));
  const isAction = at.commands.length === 0 || at.name() === "export";
  return isAction ? [[path.join(" "), path], ...inner] : inner;
}

const actions = actionsOf(program);

function commandAt(root: Command, path: readonly string[]): Command {
  return path.reduce((at, name) => at.commands.find((each) => each.name() === name) ?? at, root);
}

/** An output whose reader left before anything came. */
function closed(): Writable {
  return new Writable({
    write: (_chunk, _encoding, done) => {
      done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
    },
    emitClose: false,
    autoDestroy: false,
  });
}

/** Runs a command whose work is only to print, and to go on for a while after that. */
async function playedTo(path: readonly string[], words: readonly string[]) {
  const run = newRun();
  let [left, worked] = [undefined as number | undefined, false];
  const out = new Outputs(run, closed(), closed(), (code) => {
    left ??= code;
  });
  const io = guarded({ ...({} as Io), run, out: out.out, err: out.err });
  const root = buildProgram(io, serviceCommands(io));
  root.hook("preAction", (_root, ran) => {
    const effect = effectOf(ran);
    if (effect === undefined) throw new Error(`${path.join(" ")} declares no effect.`);
    run.effect = effect;
  });
  commandAt(root, path).action(async () => {
    io.out("something\n");
    await new Promise(setImmediate);
    worked = left === undefined;
  });
  await root.parseAsync([...path, ...words], { from: "user" });
  return { effect: run.effect, left, worked, code: await out.end(0) };
}

/** Words that satisfy what a command demands. */
function demanded(path: readonly string[]): string[] {
  const at = commandAt(program, path);
  const value = (choices: readonly string[] | undefined, flags: string) =>
    choices?.[0] ?? (/cents/.test(flags) ? "5" : /instant/.test(flags) ? "2027-01-01" : "word");
  const options = at.options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long, flags, argChoices }) => [long ?? "", value(argChoices, flags)]);
  const names = at.registeredArguments
    .filter(({ required }) => required)
    .map(({ argChoices, _name }: { argChoices?: string[]; _name?: string }) =>
      value(argChoices, _name ?? ""),
    );
  return [...names, ...options];
}

test.each(actions)(
  "dues %s ends with 0 on a closed output only where it reads",
  async (_, path) => {
    const { effect, ...played } = await playedTo(path, demanded(path));
    expect(played).toEqual(
      effect === "reads"
        ? { left: 0, worked: false, code: 0 }
        : { left: undefined, worked: true, code: 1 },
    );
  },
);
