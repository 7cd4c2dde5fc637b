// `dues customers create` and `update`, and `dues credits`: who is billed, and the money they have.

import { type Command, Option } from "commander";
import type { UpdateCustomerBody, Wallet } from "../../client/types.ts";
import { INVOICE_GROUPINGS, type InvoiceGrouping } from "../../schema/enums.ts";
import { property, remote, wholeNumber, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import { customerId, getCustomer } from "../connection/refs.ts";
import { CliError, type Io, printJson } from "../terminal/io.ts";
import { money } from "../terminal/output.ts";
import { tableText } from "../terminal/table.ts";
import { answerText } from "./lists.ts";

type Fields = {
  readonly name?: string;
  readonly email?: string;
  readonly currency?: string;
  readonly address?: string;
  readonly city?: string;
  readonly postalCode?: string;
  readonly region?: string;
  readonly country?: string;
  readonly taxId?: string;
  readonly taxExemption?: "exempt" | "reverse_charge" | "none";
  readonly taxNote?: string;
  readonly taxCodes?: string;
  readonly netPaymentDays?: number;
  readonly invoiceGrouping?: InvoiceGrouping | "none";
  readonly metadata?: Record<string, unknown>;
};

/** The API knows the limit; here it only has to be a number. */
const DAYS_MAX = 10_000;

type Flags = ConnectionFlags & Fields & { readonly json?: boolean; readonly externalId?: string };

/** The flags that create and update share. */
function withFields(made: Command): Command {
  return made
    .option("--email <email>", "address for bills")
    .option("--currency <code>", "ISO-4217 code; the project's by default")
    .option("--address <lines>", "as on an envelope")
    .option("--city <city>", "")
    .option("--postal-code <code>", "")
    .option("--region <region>", "state or province")
    .option("--country <code>", "two letters of ISO 3166-1")
    .option("--tax-id <id>", "such as a VAT number")
    .addOption(
      new Option("--tax-exemption <why>", "why no tax is due").choices([
        "exempt",
        "reverse_charge",
        "none",
      ]),
    )
    .option("--tax-note <text>", "a sentence about tax on invoices")
    .option("--tax-codes <codes>", "codes of taxes, with commas")
    .option("--net-payment-days <days>", "days to pay", wholeNumber(0, DAYS_MAX))
    .addOption(
      new Option(
        "--invoice-grouping <mode>",
        "what makes one invoice; none: as the settings say",
      ).choices([...INVOICE_GROUPINGS, "none"]),
    )
    .option("--metadata <name=value>", "your own data; may be given again", property)
    .option("--json", "print JSON");
}

function bodyOf(flags: Fields): UpdateCustomerBody {
  const { taxExemption, taxCodes, invoiceGrouping, metadata } = flags;
  const given = {
    name: flags.name,
    email: flags.email,
    currency: flags.currency,
    address: flags.address,
    city: flags.city,
    postal_code: flags.postalCode,
    region: flags.region,
    country: flags.country,
    tax_id: flags.taxId,
    tax_exemption: taxExemption === "none" ? null : taxExemption,
    tax_note: flags.taxNote,
    tax_codes: taxCodes === "" ? [] : taxCodes?.split(","),
    net_payment_days: flags.netPaymentDays,
    invoice_grouping: invoiceGrouping === "none" ? null : invoiceGrouping,
    metadata: metadata && mapped(metadata),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Metadata is text, also where it looks like a number. */
function mapped(metadata: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => {
      return [name, typeof value === "string" ? value : JSON.stringify(value)];
    }),
  );
}

export function customerActions(io: Io): Command[] {
  const create = withFields(
    remote("create", "writes", "Create a customer.", [
      ['dues customers create --external-id acme --name "Acme Ltd" --email bills@acme.test', ""],
    ])
      .requiredOption("--external-id <id>", "your own identifier of the customer")
      .requiredOption("--name <name>", "name"),
  ).action(
    withConnection<Flags>(io, async ({ dues }, flags) => {
      const { externalId = "", name = "" } = flags;
      const answer = await dues.createCustomer({ ...bodyOf(flags), external_id: externalId, name });
      if (flags.json) return printJson(io, answer);
      io.out(await answerText(io, answer));
    }),
  );
  const update = withFields(
    remote("update", "writes", "Change a customer; what is not named keeps its value.", [
      ["dues customers update acme --email new@acme.test", ""],
      [
        "dues customers update acme --country DE --tax-id DE136695976",
        "as on invoices from now on",
      ],
      [
        "dues customers update acme --invoice-grouping customer",
        "one invoice for what is due together",
      ],
    ])
      .argument("<customer>", "id, or ext:<external_id>")
      .option("--name <name>", "name"),
  ).action(
    withConnection<Flags>(io, async ({ dues }, flags, ref = "") => {
      const body = bodyOf(flags);
      if (Object.keys(body).length === 0) {
        throw new CliError("usage", "What should change?", "For example: --email new@acme.test");
      }
      const answer = await dues.updateCustomer((await getCustomer(dues, ref)).customer.id, body);
      if (flags.json) return printJson(io, answer);
      io.out(await answerText(io, answer));
    }),
  );
  return [create, update];
}

export function creditsCommand(io: Io): Command {
  const columns = [
    { title: "CURRENCY", of: (row: Wallet) => row.currency },
    amount("BALANCE", (row) => row.balance_cents),
    amount("RUNNING", (row) => row.running_cents),
    amount("AVAILABLE", (row) => row.available_cents),
    amount("LOW BELOW", (row) => row.low_balance_cents),
    amount("TOP UP BY", (row) => row.top_up_cents),
  ];
  return remote("credits", "reads", "The money a customer has: credit and prepaid, by currency.", [
    ["dues credits ext:acme", "what is left, and what usage of the open period will take"],
  ])
    .argument("<customer>", "id, or ext:<external_id>")
    .option("--json", "print JSON")
    .action(
      withConnection<ConnectionFlags & { json?: boolean }>(
        io,
        async ({ dues }, flags, ref = "") => {
          const answer = await dues.listWallets(await customerId(dues, ref));
          if (flags.json) return printJson(io, answer);
          if (answer.wallets.length === 0) io.out("None.\n");
          else io.out(await tableText(io, columns, answer.wallets));
        },
      ),
    );
}

function amount(title: string, cents: (row: Wallet) => number | null) {
  const of = (row: Wallet) => {
    const value = cents(row);
    return value === null ? null : money(value, row.currency);
  };
  return { title, right: true, where_set: true, of } as const;
}
