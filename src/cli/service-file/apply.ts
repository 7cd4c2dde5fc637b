// Applies the steps of a plan one after the other, and keeps the secrets of new endpoints.

import type { CallOptions } from "../../client/call.ts";
import type { Dues } from "../../client/dues.ts";
import { DuesError } from "../../client/error.ts";
import { exitOf } from "../connection/refusals.ts";
import { Journal } from "../terminal/files.ts";
import { CliError, type Io } from "../terminal/io.ts";
import { styled } from "../terminal/output.ts";
import { drawLine } from "../terminal/progress.ts";
import { CLEAR_LINE, visible } from "../terminal/visible.ts";
import { measureFor } from "../terminal/widths.ts";
import type { Put, Puts, Step, Update, Updates } from "./planning/steps.ts";

/** A step that changes something. */
export type Doing = Step & Required<Pick<Step, "request">>;

export type Secret = { readonly url: string; readonly id: string; readonly secret: string };

export type ApplyFlags = { readonly json?: boolean; readonly secretsOut?: string };

/** How far a run has come. */
export type SyncRun = {
  applied: number;
  readonly secrets: Secret[];
  /** Takes the secrets; open before the first of them is made. */
  readonly journal: Journal | undefined;
};

/** Opens the journal before anything is changed: a secret that cannot be kept is not made. */
export async function openRun(
  todo: readonly Doing[],
  { secretsOut }: ApplyFlags,
): Promise<SyncRun> {
  const run = { applied: 0, secrets: [], journal: undefined };
  const makesSome = todo.some(({ request }) => request.operation === "createWebhook");
  if (secretsOut === undefined || !makesSome) return run;
  try {
    return { ...run, journal: await Journal.open(secretsOut) };
  } catch (error) {
    const hint = "Nothing was changed. Name another file with --secrets-out.";
    throw new CliError("failed", (error as Error).message, hint);
  }
}

/** A run that was cut short is finished by running it again. */
export async function apply(
  io: Io,
  dues: Dues,
  project_id: string,
  todo: readonly Doing[],
  flags: ApplyFlags,
  run: SyncRun,
): Promise<void> {
  for (const [i, step] of todo.entries()) {
    const line = `[${i + 1}/${todo.length}] ${step.act} ${step.section} ${visible(step.key)}`;
    if (io.progress) drawLine(io, line, await measureFor([line]));
    else if (!flags.json) io.err(`${line}\n`);
    let made: Secret | undefined;
    try {
      made = await send(dues, step.request, project_id);
    } catch (error) {
      if (io.progress) io.err("\n");
      throw asCliError(step, i, todo.length, error);
    }
    run.applied += 1;
    if (made !== undefined) await keepSecret(io, made, flags, run);
  }
  if (io.progress) io.err(CLEAR_LINE);
}

function asCliError(step: Step, done: number, all: number, error: unknown): unknown {
  if (!(error instanceof DuesError)) return error;
  const message = visible(`${step.act} ${step.section} ${step.key}: ${error.message}`);
  const hint = `${done} of ${all} changes were applied. Run dues sync again to go on from here.`;
  return new CliError(exitOf(error), message, hint);
}

/** Returns the secret of an endpoint that it made. */
export async function send(
  dues: Dues,
  request: Put | Update,
  project_id: string,
): Promise<Secret | undefined> {
  const options = { project_id };
  if (request.operation === "createWebhook") return makeEndpoint(dues, request, options);
  if ("id" in request) await update(dues, request, options);
  else await put(dues, request, options);
  return undefined;
}

type Putting = { [N in keyof Puts]: (body: Puts[N], options: CallOptions) => Promise<unknown> };

function put<N extends keyof Puts>(putting: Putting, { operation, body }: Put<N>, o: CallOptions) {
  return putting[operation](body, o);
}

type Updating = {
  [N in keyof Updates]: (id: string, body: Updates[N], options: CallOptions) => Promise<unknown>;
};

function update<N extends keyof Updates>(
  updating: Updating,
  { operation, id, body }: Update<N>,
  options: CallOptions,
) {
  return updating[operation](id, body, options);
}

async function makeEndpoint(
  dues: Dues,
  { body }: Put<"createWebhook">,
  options: CallOptions,
): Promise<Secret | undefined> {
  const { webhook_endpoint } = await dues.createWebhook(body, options);
  const { url, id, secret } = webhook_endpoint;
  if (!isMasked(secret)) return { url, id, secret };
  // Somebody else made it since this run looked.
  await dues.updateWebhook(id, { events: body.events }, options);
  return undefined;
}

/** The service shows a secret when it makes one, and never again. */
function isMasked(secret: string): boolean {
  return secret.includes("…");
}

function masked(secret: string): string {
  return `whsec_…${secret.slice(-4)}`;
}

/** Called right after the endpoint was made, because the secret is not shown again. */
async function keepSecret(io: Io, made: Secret, flags: ApplyFlags, run: SyncRun): Promise<void> {
  const url = visible(made.url);
  if (run.journal !== undefined) {
    try {
      await run.journal.add([made]);
    } catch (error) {
      io.err(`\n${(error as Error).message} Secret of ${url}: ${made.secret}\n`);
      throw error;
    }
    run.secrets.push({ ...made, secret: masked(made.secret) });
    io.err(`${io.progress ? "\n" : ""}The secret of ${url} is in ${flags.secretsOut}.\n`);
    return;
  }
  run.secrets.push(made);
  io.run.if_lost = `The secret of a new endpoint was in it: dues webhooks rotate ${url} makes another.\n`;
  if (flags.json) return;
  if (io.progress) io.err(CLEAR_LINE);
  io.out(`Secret of ${url} (shown once): ${styled(io, "bold", made.secret)}\n`);
}
