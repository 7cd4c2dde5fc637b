// `dues webhooks list` and `listen`. Endpoints are declared in service.yaml.

import type { Command } from "commander";
import type { WebhookEndpoint } from "../client/types.ts";
import type { Io } from "./io.ts";
import { listCommand } from "./list-commands.ts";
import { listenCommand } from "./webhooks-listen.ts";

export function webhookCommands(io: Io): Command[] {
  return [
    listCommand<WebhookEndpoint>(io, {
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
    }),
    listenCommand(io),
  ];
}
