// `dues webhooks listen`: follows a project's webhook messages and posts them to a receiver on this
// machine, signed as the service signs them. It registers no endpoint, and shows only messages that
// are committed while it runs.

import type { Command } from "commander";
import type { Dues } from "../../client/dues.ts";
import type { WebhookMessage } from "../../client/types.ts";
import { monotonicMs, wallMs } from "../../clock.ts";
import { sign, standardSignature } from "../../domain/webhooks.ts";
import { remote, withConnection } from "../connection/command.ts";
import { pause, untilStopped } from "../connection/follow.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import { CliError, type Io } from "../terminal/io.ts";
import { visibleJson } from "../terminal/visible.ts";
import { keptSecret, newSecret } from "./listen-secret.ts";

const ANSWER_MS = 10_000;
const PAGE = 1_000;

type Flags = ConnectionFlags & {
  readonly forward?: string;
  readonly events?: string;
  readonly print?: boolean;
};

export type ListenTerms = {
  readonly forward: string | undefined;
  /** Undefined means all. */
  readonly events?: readonly string[];
  /** What forwarded messages are signed with; a new one where none is kept. */
  readonly secret?: string;
  /** Whether the body of each message is shown below its line. */
  readonly print?: boolean;
  readonly signal: AbortSignal;
};

export function listenCommand(io: Io): Command {
  return remote(
    "listen",
    "reads",
    "Show a sandbox project's webhooks as they happen, and forward them.",
    [
      ["dues webhooks listen", "a line for every message"],
      ["dues webhooks listen --forward http://localhost:3000/hook", "and post it there, signed"],
      ["dues webhooks listen --events invoice.created,payment.succeeded", "only these"],
      ["dues webhooks listen --print", "with their payloads"],
    ],
  )
    .option("--forward <url>", "where to post each message")
    .option("--events <codes>", "event codes, separated by commas")
    .option("--print", "show the payload of each message")
    .addHelpText(
      "after",
      `
A sandbox project tells every message; of a live one only those are seen that some endpoint is
subscribed to. The secret stays the same for a service and project. Ctrl-C ends it.`,
    )
    .action(
      withConnection<Flags>(io, async ({ dues, profile }, flags) => {
        await untilStopped(async (signal) => {
          const terms = await termsOf(flags, signal);
          const kept = terms.forward === undefined ? {} : { secret: await keptSecret(io, profile) };
          await listen(io, dues, { ...terms, ...kept });
        });
      }),
    );
}

async function termsOf(flags: Flags, signal: AbortSignal): Promise<ListenTerms> {
  const { forward } = flags;
  if (forward !== undefined && !/^https?:/.test(forward)) {
    throw new CliError("usage", `--forward takes a URL, not "${forward}".`);
  }
  const events = flags.events?.split(",").map((code) => code.trim());
  const { WEBHOOK_EVENTS } = await import("../../schema/webhooks.ts");
  const unknown = events?.find((code) => !(WEBHOOK_EVENTS as readonly string[]).includes(code));
  if (unknown !== undefined) {
    const hint = `Known are ${WEBHOOK_EVENTS.join(", ")}.`;
    throw new CliError("usage", `There is no event "${unknown}".`, hint);
  }
  return { forward, signal, print: flags.print === true, ...(events && { events }) };
}

/** Shows what is committed from now on, in commit order, until the signal aborts. */
export async function listen(io: Io, dues: Dues, terms: ListenTerms): Promise<void> {
  const { forward, events, signal, secret = newSecret() } = terms;
  let cursor = await endOf(dues);
  if (forward === undefined) io.err("Listening. Ctrl-C ends it.\n");
  else io.err(`Listening, and forwarding to ${forward}. Ctrl-C ends it.\nSecret: ${secret}\n`);
  while (!signal.aborted) {
    const page = await dues.listWebhookMessages({ limit: PAGE, ...(cursor && { cursor }) });
    cursor = page.cursor ?? cursor;
    for (const message of page.webhook_messages) {
      if (signal.aborted) return;
      if (events !== undefined && !events.includes(message.event)) continue;
      const came = forward === undefined ? "" : await post(forward, secret, message);
      io.out(`${message.created_at}  ${message.event.padEnd(34)}  ${message.id}${came}\n`);
      if (terms.print) io.out(`${indented(message.body)}\n`);
    }
    if (!page.has_more) await pause(signal);
  }
}

/** A body, which is JSON on one line, as it is read. */
function indented(body: string): string {
  return visibleJson(JSON.stringify(JSON.parse(body), null, 2)).replace(/^/gm, "  ");
}

/** The cursor after the last message; undefined when there is none. */
async function endOf(dues: Dues): Promise<string | undefined> {
  let cursor: string | undefined;
  for (;;) {
    const page = await dues.listWebhookMessages({ limit: PAGE, ...(cursor && { cursor }) });
    cursor = page.cursor ?? cursor;
    if (!page.has_more) return cursor;
  }
}

/** Posts a message and returns what came of it, for the end of its line. */
async function post(url: string, secret: string, message: WebhookMessage): Promise<string> {
  const { id, event, body } = message;
  const timestamp_s = Math.floor(wallMs() / 1000);
  const started = monotonicMs();
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json; charset=utf-8",
        "user-agent": "dues-webhooks/1",
        "x-service-event": event,
        "x-service-signature": sign(secret, body),
        "webhook-id": id,
        "webhook-timestamp": String(timestamp_s),
        "webhook-signature": standardSignature([secret], { id, timestamp_s, body }),
      },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    await answer.body?.cancel();
    return `  -> ${answer.status} in ${Math.round(monotonicMs() - started)} ms`;
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    const reason = cause instanceof Error ? cause.message : (error as Error).message;
    return `  -> failed: ${reason || "no connection"}`;
  }
}
