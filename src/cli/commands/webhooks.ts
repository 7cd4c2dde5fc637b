// `dues webhooks`: endpoints, what was sent to them and came of it, and sending again. Endpoints
// are declared in service.yaml.

import type { Command } from "commander";
import type { Dues } from "../../client/dues.ts";
import type { WebhookDelivery, WebhookEndpoint } from "../../client/types.ts";
import { GRACE_HOURS } from "../../schema/enums.ts";
import { instant, remote, wholeNumber, withConnection } from "../connection/command.ts";
import { type ConnectionFlags, isUuid } from "../connection/profile.ts";
import { CliError, type Io, printJson } from "../terminal/io.ts";
import { plural } from "../terminal/output.ts";
import { listCommand } from "./lists.ts";
import { listenCommand } from "./webhooks-listen.ts";

type Flags = ConnectionFlags & { readonly json?: boolean };

export function webhookCommands(io: Io): Command[] {
  return [
    listEndpoints(io),
    listDeliveries(io),
    testCommand(io),
    replayCommand(io),
    redeliverCommand(io),
    rotateCommand(io),
    listenCommand(io),
  ];
}

function listEndpoints(io: Io): Command {
  return listCommand<WebhookEndpoint>(io, {
    name: "webhooks",
    many: "webhook_endpoints",
    says: "List webhook endpoints.",
    examples: [["dues webhooks list", ""]],
    filters: [],
    columns: [
      { title: "URL", cut: true, of: (row) => row.url },
      { title: "ENABLED", of: (row) => (row.enabled === 1 ? "yes" : "no") },
      { title: "EVENTS", cut: true, of: (row) => row.events.join(", ") },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    read: async (dues) => (await dues.listWebhooks()).webhook_endpoints,
  });
}

function listDeliveries(io: Io): Command {
  const list = listCommand<WebhookDelivery>(io, {
    name: "webhooks",
    many: "webhook_deliveries",
    says: "List attempts to deliver, newest first: what was answered, and when it is tried again.",
    examples: [
      ["dues webhooks deliveries --status failed", ""],
      ["dues webhooks deliveries --endpoint https://example.com/dues", "of one endpoint"],
    ],
    filters: [
      { flag: "--endpoint <endpoint>", says: "of this endpoint; id or URL" },
      { flag: "--status <status>", says: "only these", choices: ["delivered", "failed"] },
      { flag: "--event <code>", says: "of this event" },
    ],
    columns: [
      { title: "AT", of: (row) => row.created_at.slice(0, 19) },
      { title: "EVENT", of: (row) => row.event },
      { title: "TRY", right: true, of: (row) => row.attempt },
      { title: "STATUS", of: (row) => row.status },
      { title: "ANSWER", of: (row) => row.http_status ?? row.error },
      { title: "AGAIN AT", where_set: true, drop: 2, of: (row) => row.next_retry_at?.slice(0, 19) },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    async read(dues, { endpoint, status, event }, page) {
      return dues.webhook_deliveries.all({
        ...page,
        ...(typeof endpoint === "string" && { endpoint_id: await endpointId(dues, endpoint) }),
        ...(typeof status === "string" && { status: status as WebhookDelivery["status"] }),
        ...(typeof event === "string" && { event }),
      });
    },
  });
  return list.name("deliveries");
}

const ENDPOINT = "id or URL of the endpoint";

function testCommand(io: Io): Command {
  return remote("test", "writes", "Send a test message to an endpoint.", [
    [
      "dues webhooks test https://example.com/dues",
      "dues webhooks deliveries shows what came of it",
    ],
  ])
    .argument("<endpoint>", ENDPOINT)
    .option("--json", "print JSON")
    .action(
      withConnection<Flags>(io, async ({ dues }, flags, ref = "") => {
        const id = await endpointId(dues, ref);
        const answer = await dues.testWebhook(id);
        if (flags.json) return printJson(io, answer);
        io.out(
          `A test message is on its way.\nWhat came of it: dues webhooks deliveries --endpoint ${id}\n`,
        );
      }),
    );
}

function replayCommand(io: Io): Command {
  return remote("replay", "writes", "Send an endpoint everything again since an instant.", [
    ["dues webhooks replay https://example.com/dues --since 2027-01-01", "under the old ids"],
  ])
    .argument("<endpoint>", ENDPOINT)
    .requiredOption("--since <instant>", "a date or a timestamp", instant)
    .option("--json", "print JSON")
    .action(
      withConnection<Flags & { since: string }>(io, async ({ dues }, flags, ref = "") => {
        const answer = await dues.replayWebhook(await endpointId(dues, ref), {
          since: flags.since,
        });
        if (flags.json) return printJson(io, answer);
        io.out(`${plural(answer.queued, "message")} will be sent again.\n`);
      }),
    );
}

function redeliverCommand(io: Io): Command {
  return remote("redeliver", "writes", "Send one message again.", [
    ["dues webhooks redeliver <id>", "the id of any attempt: dues webhooks deliveries"],
  ])
    .argument("<delivery>", "id of an attempt")
    .option("--json", "print JSON")
    .action(
      withConnection<Flags>(io, async ({ dues }, flags, ref = "") => {
        const answer = await dues.redeliverWebhookDelivery(ref);
        if (flags.json) return printJson(io, answer);
        io.out("The message will be sent again.\n");
      }),
    );
}

function rotateCommand(io: Io): Command {
  return remote(
    "rotate",
    "writes",
    "Give an endpoint a new secret. The old one signs for 24 more hours.",
    [
      ["dues webhooks rotate https://example.com/dues", "the new secret is shown once"],
      [
        "dues webhooks rotate https://example.com/dues --grace-hours 0",
        "after a leak: it alone signs",
      ],
    ],
  )
    .argument("<endpoint>", ENDPOINT)
    .option("--grace-hours <hours>", "for how long the old one signs, 0 to 72", wholeNumber(0, 72))
    .option("--json", "print JSON")
    .action(
      withConnection<Flags & { graceHours?: number }>(io, async ({ dues }, flags, ref = "") => {
        const { graceHours: grace_hours = GRACE_HOURS } = flags;
        const id = await endpointId(dues, ref);
        const answer = await dues.rotateWebhookSecret(id, { grace_hours });
        io.run.if_lost = "The new secret was in it: run this again for another.\n";
        if (flags.json) return printJson(io, answer);
        io.out(`${answer.webhook_endpoint.secret}\n`);
        const old =
          grace_hours === 0
            ? "It alone signs from now on."
            : `The old one signs for ${plural(grace_hours, "more hour")}.`;
        io.err(`Keep it: it is not shown again. ${old}\n`);
      }),
    );
}

async function endpointId(dues: Dues, ref: string): Promise<string> {
  if (isUuid(ref)) return ref;
  const { webhook_endpoints } = await dues.listWebhooks();
  const [only, another] = webhook_endpoints.filter(({ url }) => url === ref);
  if (only !== undefined && another === undefined) return only.id;
  const fault = only === undefined ? "There is no endpoint" : "Several endpoints are at";
  throw new CliError("failed", `${fault} ${ref}.`, "dues webhooks list shows what there is.");
}
