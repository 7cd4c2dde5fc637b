// Brings a project to what its file declares: reads both, compares, asks before prices of plans in
// use change, and applies the steps.

import {
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";
import type { Dues } from "../client/dues.ts";
import { DuesError } from "../client/error.ts";
import { fieldName } from "../schema/fault-messages.ts";
import { type CheckedFile, checkFile } from "./check-file.ts";
import { AlreadyReported, CliError, EXIT, type Io, printJson } from "./io.ts";
import { plural, styled } from "./output.ts";
import { type LivePlan, livePlans, presentState, projectOf } from "./present-state.ts";
import { drawLine } from "./progress.ts";
import { FILE_BYTES_MAX } from "./read-yaml.ts";
import { renderFaults, renderPlan, stepJson, summary } from "./render-plan.ts";
import { planSync } from "./sync-plan.ts";
import type { Request, Step } from "./sync-plan-parts.ts";
import { findUnbillable, unbillableText } from "./unbillable.ts";
import { CLEAR_LINE, visible } from "./visible.ts";
import { measureFor } from "./widths.ts";

export type SyncFlags = {
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly yes?: boolean;
  readonly secretsOut?: string;
};

/** The checked file. When it has faults they are printed and the command ends. */
export function loadFile(io: Io, file: string, json: boolean): CheckedFile {
  let bytes: Buffer;
  try {
    bytes = readBounded(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const hint =
      code === "ENOENT" ? "dues export writes one from the project as it is now." : undefined;
    throw new CliError("bad_file", `${file} cannot be read: ${(error as Error).message}`, hint);
  }
  const checked = checkFile(bytes);
  if (!Array.isArray(checked)) return checked;
  tellFaults(io, file, checked, json);
  throw new AlreadyReported("bad_file");
}

/** Reads at most one byte more than is allowed, which is enough to refuse a larger file. */
function readBounded(file: string): Buffer {
  const handle = openSync(file, "r");
  try {
    const size = Math.max(fstatSync(handle).size, 64 * 1024);
    const bytes = Buffer.alloc(Math.min(size, FILE_BYTES_MAX) + 1);
    let length = 0;
    while (length < bytes.length) {
      const read = readSync(handle, bytes, length, bytes.length - length, null);
      if (read === 0) break;
      length += read;
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(handle);
  }
}

function tellFaults(
  io: Io,
  file: string,
  faults: Parameters<typeof renderFaults>[2],
  json: boolean,
) {
  if (json) printJson(io, { faults });
  else io.err(renderFaults(io, file, faults));
}

export async function sync(io: Io, dues: Dues, file: string, flags: SyncFlags): Promise<number> {
  const json = flags.json === true;
  const checked = loadFile(io, file, json);
  const project_id = await projectOf(dues, checked.file);
  const present = await presentState(dues, project_id);
  const { steps, faults } = planSync(checked.file, present);
  if (faults.length > 0) {
    const placed = faults.map(({ path, message, hint }) => {
      return { ...checked.source.at(path), field: fieldName(path), message, hint };
    });
    tellFaults(io, file, placed, json);
    return EXIT.bad_file;
  }
  const todo = steps.filter(({ request }) => request !== undefined);
  const reprices = new Set(todo.flatMap((step) => step.reprices));
  const live = await livePlans(dues, project_id, present, reprices);
  if (!json) io.out(`${renderPlan(io, steps)}${steps.length > 0 ? "\n" : ""}${summary(steps)}\n`);
  if (!json) io.out(liveText(live));
  const unbillable = await findUnbillable(dues, project_id, checked.file, present);
  // Beside JSON it must be seen too: nothing is billed of them from then on.
  io.err(unbillableText(unbillable));
  if (flags.dryRun || todo.length === 0) {
    if (json)
      printJson(io, { steps: steps.map(stepJson), applied: 0, live_plans: live, unbillable });
    else if (todo.length === 0) io.out("Nothing to do.\n");
    return flags.dryRun && todo.length > 0 ? EXIT.drift : EXIT.done;
  }
  await confirm(io, live, flags.yes === true);
  const run: Run = { applied: 0, secrets: [], file: openSecrets(todo, flags) };
  try {
    await apply(io, dues, project_id, todo, flags, run);
  } catch (error) {
    // A secret is not shown again, so what there is so far is printed before the failure.
    if (json) printJson(io, outcome(steps, run, error));
    throw error;
  } finally {
    if (run.file !== undefined) closeSync(run.file);
  }
  if (json) printJson(io, outcome(steps, run));
  else io.out(`Done: ${plural(todo.length, "change")} applied.\n`);
  return EXIT.done;
}

/** What a run has come to so far. */
type Run = {
  applied: number;
  readonly secrets: Secret[];
  /** Where secrets go, open before the first of them is made. */
  readonly file: number | undefined;
};

function outcome(steps: readonly Step[], { applied, secrets }: Run, error?: unknown) {
  const failed = error instanceof Error ? error.message : undefined;
  return { steps: steps.map(stepJson), applied, secrets, failed };
}

/** Opened before anything is changed: a secret that cannot be kept is not made. */
function openSecrets(todo: readonly Step[], { secretsOut }: SyncFlags): number | undefined {
  const makesSome = todo.some(({ request }) => request?.operation === "createWebhook");
  if (secretsOut === undefined || !makesSome) return undefined;
  try {
    const file = openSync(secretsOut, "a", 0o600);
    // The mode above counts for a new file only; an existing one may be readable by others.
    fchmodSync(file, 0o600);
    return file;
  } catch (error) {
    throw new CliError(
      "failed",
      `Secrets cannot be written to ${secretsOut}: ${(error as Error).message}`,
      "Nothing was changed. Name another file with --secrets-out.",
    );
  }
}

function liveText(live: readonly LivePlan[]): string {
  return live
    .map(({ code, subscriptions, from, together }) => {
      const count = plural(subscriptions, "live subscription");
      const when = together
        ? `from the period that starts ${from}`
        : `for each from its next period on, the first seen starts ${from}`;
      return `The new price of ${visible(code)} (${count}) counts ${when}.\n`;
    })
    .join("");
}

/** Asks before prices of plans with live subscriptions change. */
async function confirm(io: Io, live: readonly LivePlan[], yes: boolean): Promise<void> {
  if (yes || live.length === 0) return;
  if (!io.interactive) {
    const codes = live.map(({ code }) => visible(code)).join(", ");
    throw new CliError(
      "failed",
      `This changes the price of plans with live subscriptions: ${codes}. Nothing was changed.`,
      "Look at the plan with --dry-run, then run again with --yes.",
    );
  }
  const answer = await io.ask("Change these prices? [y/N] ");
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError("failed", "Nothing was changed.");
}

type Secret = { readonly url: string; readonly id: string; readonly secret: string };

/** One step after the other. A run that was cut short is finished by running it again. */
async function apply(
  io: Io,
  dues: Dues,
  project_id: string,
  todo: readonly Step[],
  flags: SyncFlags,
  run: Run,
): Promise<void> {
  for (const [i, step] of todo.entries()) {
    const line = `[${i + 1}/${todo.length}] ${step.act} ${step.section} ${visible(step.key)}`;
    if (io.progress) drawLine(io, line, await measureFor([line]));
    else if (!flags.json) io.err(`${line}\n`);
    let made: Secret | undefined;
    try {
      made = step.request && (await send(dues, step.request, project_id));
    } catch (error) {
      if (io.progress) io.err("\n");
      throw asCliError(step, i, todo.length, error);
    }
    run.applied += 1;
    if (made !== undefined) keepSecret(io, made, flags, run);
  }
  if (io.progress) io.err(CLEAR_LINE);
}

function asCliError(step: Step, done: number, all: number, error: unknown): unknown {
  if (!(error instanceof DuesError)) return error;
  const message = visible(`${step.act} ${step.section} ${step.key}: ${error.message}`);
  const hint = `${done} of ${all} changes were applied. Run dues sync again to go on from here.`;
  return new CliError(error.status === 0 ? "unreachable" : "failed", message, hint);
}

/** Called right after the endpoint was made, because the secret is not shown again. */
function keepSecret(io: Io, made: Secret, flags: SyncFlags, run: Run): void {
  const url = visible(made.url);
  if (run.file !== undefined) {
    try {
      writeSync(run.file, `${JSON.stringify(made)}\n`);
      fsyncSync(run.file);
    } catch (error) {
      const why = (error as Error).message;
      io.err(
        `\n${flags.secretsOut} cannot be written (${why}). Secret of ${url}: ${made.secret}\n`,
      );
      throw error;
    }
    run.secrets.push({ ...made, secret: masked(made.secret) });
    io.err(`${io.progress ? "\n" : ""}The secret of ${url} is in ${flags.secretsOut}.\n`);
    return;
  }
  run.secrets.push(made);
  if (flags.json) return;
  if (io.progress) io.err(CLEAR_LINE);
  io.out(`Secret of ${url} (shown once): ${styled(io, "bold", made.secret)}\n`);
}

function masked(secret: string): string {
  return `whsec_…${secret.slice(-4)}`;
}

async function send(dues: Dues, request: Request, project_id: string): Promise<Secret | undefined> {
  const options = { project_id };
  switch (request.operation) {
    case "createWebhook": {
      const { webhook_endpoint } = await dues.createWebhook(request.body, options);
      const { url, id, secret } = webhook_endpoint;
      return { url, id, secret };
    }
    case "updateMetric":
      await dues.updateMetric(request.id, request.body, options);
      break;
    case "updatePlan":
      await dues.updatePlan(request.id, request.body, options);
      break;
    case "updateWebhook":
      await dues.updateWebhook(request.id, request.body, options);
      break;
    case "setSettings":
      await dues.setSettings(request.body, options);
      break;
    case "upsertTax":
      await dues.upsertTax(request.body, options);
      break;
    case "upsertCoupon":
      await dues.upsertCoupon(request.body, options);
      break;
    case "upsertCatalogItem":
      await dues.upsertCatalogItem(request.body, options);
      break;
    case "createMetric":
      await dues.createMetric(request.body, options);
      break;
    case "upsertAddOn":
      await dues.upsertAddOn(request.body, options);
      break;
    case "createPlan":
      await dues.createPlan(request.body, options);
      break;
    case "setDunning":
      await dues.setDunning(request.body, options);
      break;
  }
  return undefined;
}
