// Usage events: list them, look one up, send one, import a file of them.

import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import type { UsageEvent } from "../../client/types.ts";
import { instant, property, remote, wholeNumber, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import { pathRef } from "../connection/refs.ts";
import { AlreadyReported, type Io, printJson } from "../terminal/io.ts";
import { getCommand, listCommand } from "./lists.ts";

const BATCH = 2_000;

export function eventCommands(io: Io): Command[] {
  return [listEvents(io), getEvent(io), sendCommand(io), importCommand(io)];
}

function listEvents(io: Io): Command {
  return listCommand<UsageEvent>(io, {
    name: "events",
    many: "events",
    says: "List usage events: of a subscription, of all by subscription, or those never billed.",
    examples: [
      ["dues events list --subscription ext:acme-pro", ""],
      ["dues events list --state unbillable", "stored and never billed, with the reason"],
    ],
    filters: [
      { flag: "--subscription <subscription>", says: "of this subscription" },
      { flag: "--code <metric>", says: "of this metric" },
      { flag: "--state <state>", says: "in this state", choices: ["billable", "unbillable"] },
    ],
    columns: [
      { title: "TIMESTAMP", of: (row) => row.timestamp },
      { title: "TRANSACTION", cut: true, of: (row) => row.transaction_id },
      { title: "CODE", of: (row) => row.code },
      { title: "VALUE", right: true, of: (row) => row.value },
      { title: "PROPERTIES", cut: true, of: (row) => JSON.stringify(row.properties) },
      { title: "STATE", of: (row) => row.reason ?? row.state },
    ],
    read: (dues, { subscription, code, state }, page) =>
      dues.events.all({
        ...page,
        ...(typeof subscription === "string" && { subscription_id: pathRef(subscription) }),
        ...(typeof code === "string" && { code }),
        ...(typeof state === "string" && { state: state as UsageEvent["state"] }),
      }),
  });
}

function getEvent(io: Io): Command {
  const what = {
    name: "events",
    says: "Show a usage event: whether it is stored, and how it counts.",
    ref: "transaction_id",
    means: "the transaction_id it was sent with",
    example: "evt-1",
  };
  return getCommand(io, what, (dues, ref) => dues.getEvent(ref));
}

type SendOptions = ConnectionFlags & {
  readonly json?: boolean;
  readonly subscription: string;
  readonly code: string;
  readonly value?: string;
  readonly property?: Record<string, unknown>;
  readonly timestamp?: string;
  readonly transactionId?: string;
};

function sendCommand(io: Io): Command {
  const ref = "--subscription ext:acme-pro --code";
  return remote("send", "writes", "Send one usage event.", [
    [`dues events send ${ref} calls --property n=400`, "now, under an id of its own"],
    [`dues events send ${ref} calls --property n=1 --transaction-id t-1`, "counts once"],
  ])
    .requiredOption("--subscription <subscription>", "id, or ext:<external_id>")
    .requiredOption("--code <metric>", "code of the metric")
    .option("--value <value>", "the value, where the metric takes no property")
    .option("--property <name=value>", "a property; may be given again", property)
    .option("--timestamp <instant>", "when it was; now by default", instant)
    .option("--transaction-id <id>", "an id of your own: sent again it is not counted again")
    .option("--json", "print JSON")
    .action(
      withConnection<SendOptions>(io, async ({ dues }, flags) => {
        const { value, timestamp, transactionId: transaction_id = randomUUID() } = flags;
        const answer = await dues.sendEvent({
          transaction_id,
          subscription_id: pathRef(flags.subscription),
          code: flags.code,
          ...(value !== undefined && { value }),
          ...(timestamp !== undefined && { timestamp }),
          ...(flags.property !== undefined && { properties: flags.property }),
        });
        if (flags.json) return printJson(io, { ...answer, transaction_id });
        const known = answer.duplicate ? "was known before" : "is stored";
        io.out(`${transaction_id} ${known}.\n`);
        if (answer.warning !== undefined) io.err(warningText(answer.warning, transaction_id));
      }),
    );
}

function warningText(warning: string, transaction_id: string): string {
  const what =
    warning === "payload_mismatch"
      ? "It was sent before with other content, and that counts"
      : `It is not billed: ${warning}`;
  return `${what}. dues events get ${transaction_id} tells more.\n`;
}

type ImportOptions = ConnectionFlags & {
  readonly json?: boolean;
  readonly batch: number;
  readonly fromLine?: number;
  readonly report?: string;
};

function importCommand(io: Io): Command {
  return remote("import", "writes", "Send a file of usage events, .ndjson or .csv.", [
    ["dues events import usage.ndjson", "an event per line, as POST /v1/events takes it"],
    [
      "dues events import usage.csv",
      "transaction_id,subscription_id,code,value,timestamp,properties.<name>",
    ],
  ])
    .argument("<file>", "the file; what ends in .csv is read as CSV")
    .option("--batch <count>", "events per call", wholeNumber(1, 10_000), BATCH)
    .option("--from-line <line>", "skip what stands before it", wholeNumber(1, 1e12))
    .option("--report <file>", "where refused lines go; <file>.refused.ndjson by default")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nSafe to repeat, and to go on with after it was stopped: a transaction_id counts once.",
    )
    .action(
      withConnection<ImportOptions>(io, async ({ dues }, flags, file = "") => {
        const { importEvents } = await import("../events/import.ts");
        const result = await importEvents(io, dues, file, flags);
        if (flags.json) printJson(io, result);
        else {
          const { lines, accepted, duplicates, refused } = result;
          io.out(
            `${lines} lines: ${accepted} stored, ${duplicates} known before, ${refused} refused.\n`,
          );
        }
        if (result.report === null) return;
        const { refused_before } = result;
        const before =
          refused_before === 0 ? "" : `, also ${refused_before} of the lines before this run`;
        io.err(`The refused lines and their reasons are in ${result.report}${before}.\n`);
        throw new AlreadyReported("failed");
      }),
    );
}
