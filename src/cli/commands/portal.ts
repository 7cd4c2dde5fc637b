// `dues portal <customer>`: the address of a customer's own pages, signed where the project asks
// for that.

import type { Command } from "commander";
import { openInBrowser } from "../connection/browser.ts";
import { remote, wholeNumber, withConnection } from "../connection/command.ts";
import type { Connection, ConnectionFlags } from "../connection/profile.ts";
import { customerId } from "../connection/refs.ts";
import { type Io, printJson } from "../terminal/io.ts";

type Flags = ConnectionFlags & {
  readonly open?: boolean;
  readonly signed?: boolean;
  readonly days?: number;
  readonly json?: boolean;
};

const DAY_S = 24 * 3_600;
const DAYS_MAX = 366;

export function portalCommand(io: Io): Command {
  return remote("portal", "reads", "The link to a customer's portal: usage, invoices, payments.", [
    ["dues portal ext:acme", "print the link"],
    ["dues portal ext:acme --open", "and open it in a browser"],
    ["dues portal ext:acme --signed --days 30", "a link that ends, also where none is needed"],
  ])
    .argument("<customer>", "id, or ext:<external_id>")
    .option("--open", "open it in a browser too")
    .option("--signed", "sign it even where the setting portal_access is open")
    .option(
      "--days <days>",
      "how long a signed link is good; 7 by default",
      wholeNumber(1, DAYS_MAX),
    )
    .option("--json", "print JSON")
    .action(
      withConnection<Flags>(io, async (connection, flags, ref = "") => {
        const link = await portalLink(connection, ref, flags);
        if (flags.json) printJson(io, link);
        else io.out(`${link.url}\n`);
        if (flags.open) openInBrowser(link.url);
      }),
    );
}

export type PortalLink = { readonly url: string; readonly expires_at: string | null };

export async function portalLink(
  { dues, profile }: Connection,
  ref: string,
  { signed, days }: Pick<Flags, "signed" | "days"> = {},
): Promise<PortalLink> {
  const id = await customerId(dues, ref);
  const { settings } = await dues.getSettings();
  if (settings.portal_access === "open" && !signed && days === undefined) {
    return { url: `${profile.base_url}/portal/${id}`, expires_at: null };
  }
  return dues.createPortalLink(id, days === undefined ? {} : { expires_in: days * DAY_S });
}
