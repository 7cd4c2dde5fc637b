// `dues log`: what happened in the project, from its log of domain events; with `--follow` as it
// happens.

import type { Command } from "commander";
import type { Dues } from "../../client/dues.ts";
import type { BillingEvent, ListBillingEventsQuery } from "../../client/types.ts";
import { instant, remote, wholeNumber, withConnection } from "../connection/command.ts";
import { pause, untilStopped } from "../connection/follow.ts";
import { type ConnectionFlags, isUuid } from "../connection/profile.ts";
import { CliError, type Io, printJson } from "../terminal/io.ts";
import { clean } from "../terminal/output.ts";

type Flags = ConnectionFlags & {
  readonly type?: string;
  readonly resource?: string;
  readonly since?: string;
  readonly cursor?: string;
  readonly limit: number;
  readonly follow?: boolean;
  readonly payload?: boolean;
  readonly json?: boolean;
};

const LIMIT = 20;
const PAGE = 500;
const EVENT_WIDE = 30;

export function logCommand(io: Io): Command {
  return remote("log", "reads", "What happened: the project's log of domain events.", [
    ["dues log", "the last 20, newest first"],
    ["dues log --follow --type invoice.created", "as they happen, until Ctrl-C"],
    ["dues log --since 2027-01-01 --json", "from then on, oldest first, a JSON object per line"],
  ])
    .option("--type <event>", "only this type, such as customer.created")
    .option("--resource <id>", "only about the record with this id")
    .option("--since <instant>", "from a date or a timestamp on, oldest first", instant)
    .option("--cursor <cursor>", "from where an earlier run ended, with the same filter")
    .option("--limit <count>", "how many at most", wholeNumber(1, 1_000_000), LIMIT)
    .option("-f, --follow", "go on until Ctrl-C")
    .option("--payload", "print what the event carries too")
    .option("--json", "print a JSON object per line")
    .action(
      withConnection<Flags>(io, async ({ dues }, flags) => {
        if (flags.resource !== undefined && !isUuid(flags.resource)) {
          throw new CliError("usage", "--resource takes the id of a record.");
        }
        if (flags.follow) return untilStopped((signal) => follow(io, dues, flags, signal));
        if (flags.since === undefined && flags.cursor === undefined) return newest(io, dues, flags);
        return catchUp(io, dues, flags);
      }),
    );
}

function filterOf({ type, resource }: Flags): ListBillingEventsQuery {
  return {
    ...(type !== undefined && { event_type: type }),
    ...(resource !== undefined && { resource_id: resource }),
  };
}

function show(io: Io, flags: Flags, event: BillingEvent): void {
  if (flags.json) {
    printJson(io, event, 0);
    return;
  }
  const { created_at, event_type, resource_id, payload } = event;
  const shown = flags.payload ? `\n  ${clean(JSON.stringify(payload))}` : "";
  io.out(`${created_at}  ${clean(event_type).padEnd(EVENT_WIDE)}  ${resource_id}${shown}\n`);
}

async function newest(io: Io, dues: Dues, flags: Flags): Promise<void> {
  let left = flags.limit;
  const page = Math.min(left, PAGE);
  for await (const event of dues.billing_events.all({ ...filterOf(flags), limit: page })) {
    if (left-- === 0) return;
    show(io, flags, event);
  }
  if (left === flags.limit && !flags.json) io.out("None.\n");
}

/** Oldest first; says where to go on from. */
async function catchUp(io: Io, dues: Dues, flags: Flags): Promise<void> {
  let { cursor } = flags;
  let [left, more] = [flags.limit, true];
  while (left > 0 && more) {
    const page = await readOn(dues, flags, cursor, Math.min(left, PAGE));
    for (const event of page.billing_events) show(io, flags, event);
    left -= page.billing_events.length;
    cursor = page.cursor ?? cursor;
    more = page.has_more;
  }
  if (cursor === undefined) return;
  io.err(`${more ? "There are more" : "Later go on"}: ${commandFrom(flags, cursor)}\n`);
}

/** A cursor goes on with the same filter only. */
function commandFrom({ type, resource, since }: Flags, cursor: string): string {
  const filter = [
    ...(type === undefined ? [] : ["--type", type]),
    ...(resource === undefined ? [] : ["--resource", resource]),
    ...(since === undefined ? [] : ["--since", since]),
  ];
  return ["dues log", ...filter, "--cursor", cursor].join(" ");
}

function readOn(dues: Dues, flags: Flags, cursor: string | undefined, limit = PAGE) {
  const { since } = flags;
  return dues.listBillingEvents({
    ...filterOf(flags),
    order: "asc",
    limit,
    ...(since !== undefined && { since }),
    ...(cursor !== undefined && { cursor }),
  });
}

export async function follow(io: Io, dues: Dues, flags: Flags, signal: AbortSignal): Promise<void> {
  const isFromNow = flags.since === undefined && flags.cursor === undefined;
  // Entries are told apart by their place in the log: a sandbox's clock may be set back.
  let cursor = isFromNow ? await endOf(dues, flags) : flags.cursor;
  if (!flags.json) io.err("Following the log. Ctrl-C ends it.\n");
  while (!signal.aborted) {
    const page = await readOn(dues, flags, cursor);
    cursor = page.cursor ?? cursor;
    for (const event of page.billing_events) {
      if (signal.aborted) return;
      show(io, flags, event);
    }
    if (!page.has_more) await pause(signal);
  }
}

/** The cursor behind the last entry; undefined where there is none yet. */
async function endOf(dues: Dues, flags: Flags): Promise<string | undefined> {
  const query = { ...filterOf(flags), order: "asc", start: "end" } as const;
  return (await dues.listBillingEvents(query)).cursor ?? undefined;
}
