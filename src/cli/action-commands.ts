// The commands that do something with one record: create customers, start and end subscriptions,
// apply add-ons, record payments, preview and void invoices.

import { randomUUID } from "node:crypto";
import { type Command, Option } from "commander";
import type { Dues } from "../client/dues.ts";
import { type Example, property, remote, wholeNumber, withConnection } from "./command.ts";
import { CliError, type Io, printJson } from "./io.ts";
import { recordText } from "./list-commands.ts";
import { clean, money } from "./output.ts";
import type { ConnectionFlags } from "./profile.ts";
import { addOnId, customerId, invoiceId, pathRef, planId, subscriptionId } from "./refs.ts";

type Flags = ConnectionFlags & { readonly json?: boolean };

/** Adds --json and the action to a command whose answer is one record. */
function actionCommand<F extends Flags>(
  io: Io,
  made: Command,
  work: (dues: Dues, flags: F, ...args: string[]) => Promise<object>,
): Command {
  return made.option("--json", "print JSON").action(
    withConnection<F>(io, async ({ dues }, flags, ...args) => {
      const answer = await work(dues, flags, ...args);
      if (flags.json) return printJson(io, answer);
      const [record] = Object.values(answer) as object[];
      io.out(recordText(record ?? {}));
    }),
  );
}

export function customerActions(io: Io): Command[] {
  type Create = Flags & { externalId: string; name: string; email?: string; currency?: string };
  const create = remote("create", "Create a customer.", [
    ['dues customers create --external-id acme --name "Acme Ltd" --email billing@acme.test', ""],
  ])
    .requiredOption("--external-id <id>", "your own identifier of the customer")
    .requiredOption("--name <name>", "name")
    .option("--email <email>", "address for bills")
    .option("--currency <code>", "ISO-4217 code; the project's by default");
  return [
    actionCommand<Create>(io, create, (dues, { externalId, name, email, currency }) =>
      dues.createCustomer({
        external_id: externalId,
        name,
        ...(email !== undefined && { email }),
        ...(currency !== undefined && { currency }),
      }),
    ),
  ];
}

export function subscriptionActions(io: Io): Command[] {
  type Create = Flags & {
    customer: string;
    plan: string;
    externalId?: string;
    property?: Record<string, unknown>;
  };
  const create = remote("create", "Start a subscription: active from now on.", [
    ["dues subscriptions create --customer ext:acme --plan pro --property seats=5", ""],
  ])
    .requiredOption("--customer <customer>", "id, or ext:<external_id>")
    .requiredOption("--plan <plan>", "id or code")
    .option("--external-id <id>", "your own identifier of the subscription")
    .option("--property <name=value>", "a property; may be given again", property);
  const started = actionCommand<Create>(io, create, async (dues, flags) =>
    dues.createSubscription({
      customer_id: await customerId(dues, flags.customer),
      plan_id: await planId(dues, flags.plan),
      ...(flags.externalId !== undefined && { external_id: flags.externalId }),
      ...(flags.property !== undefined && { properties: flags.property }),
    }),
  );
  const move = (
    name: string,
    says: string,
    work: (dues: Dues, ref: string, flags: Flags) => Promise<object>,
    examples?: readonly Example[],
  ) => {
    const made = remote(name, says, examples ?? [[`dues subscriptions ${name} ext:acme-pro`, ""]]);
    made.argument("<subscription>", "id, or ext:<external_id>");
    return actionCommand<Flags>(io, made, (dues, flags, ref = "") =>
      work(dues, pathRef(ref), flags),
    );
  };
  const terminate = move(
    "terminate",
    "End a subscription and bill the open period now.",
    (dues, ref, flags) =>
      dues.terminateSubscription(ref, {
        invoice: (flags as { invoice?: boolean }).invoice === false ? "skip" : "create",
      }),
  ).option("--no-invoice", "without a final invoice");
  return [
    started,
    move(
      "suspend",
      "Suspend a subscription: usage still counts, whole days are free.",
      (dues, ref) => dues.suspendSubscription(ref),
    ),
    move("resume", "Make a suspended subscription active again.", (dues, ref) =>
      dues.updateSubscription(ref, { status: "active" }),
    ),
    terminate,
    move("cancel", "End a subscription without billing the open period.", (dues, ref) =>
      dues.updateSubscription(ref, { status: "canceled" }),
    ),
  ];
}

export function addOnActions(io: Io): Command[] {
  const apply = remote("apply", "Apply an add-on to a customer: an invoice at once.", [
    ["dues addons apply onboarding --customer ext:acme", ""],
  ])
    .argument("<addon>", "id or code")
    .requiredOption("--customer <customer>", "id, or ext:<external_id>");
  return [
    actionCommand<Flags & { customer: string }>(io, apply, async (dues, { customer }, ref = "") =>
      dues.applyAddOn(await addOnId(dues, ref), { customer_id: await customerId(dues, customer) }),
    ),
  ];
}

export function paymentActions(io: Io): Command[] {
  type Record = Flags & {
    amount?: number;
    provider: string;
    providerPaymentId?: string;
    reference?: string;
    paidAt?: string;
  };
  const made = remote("record", "Record a payment of an invoice: all that is due, or a part.", [
    ["dues payments record INV-2026-0001", "all that is due"],
    ["dues payments record INV-2026-0001 --amount 5000 --reference 'cheque 12'", "50.00 of it"],
  ])
    .argument("<invoice>", "id or number")
    .option("--amount <cents>", "in the smallest currency unit", wholeNumber(1, 1e15))
    .option("--provider <name>", "who took the money", "manual")
    .option("--provider-payment-id <id>", "the provider's reference: recorded once")
    .option("--reference <text>", "a note")
    .option("--paid-at <timestamp>", "when; now by default");
  return [
    actionCommand<Record>(io, made, async (dues, flags, ref = "") => {
      const { invoice } = await dues.getInvoice(await invoiceId(dues, ref));
      if (invoice.amount_due_cents === 0 && flags.amount === undefined) {
        throw new CliError("failed", `Nothing is due on ${invoice.number}.`);
      }
      return dues.recordPayment({
        invoice_id: invoice.id,
        amount_cents: flags.amount ?? invoice.amount_due_cents,
        currency: invoice.currency,
        provider: flags.provider,
        provider_payment_id: flags.providerPaymentId ?? randomUUID(),
        ...(flags.reference !== undefined && { reference: flags.reference }),
        ...(flags.paidAt !== undefined && { paid_at: flags.paidAt }),
      });
    }),
  ];
}

export function invoiceActions(io: Io): Command[] {
  const preview = remote("preview", "What a subscription would be billed; nothing is stored.", [
    ["dues invoices preview ext:acme-pro", "as if the period ended now"],
    ["dues invoices preview ext:acme-pro --at period_end", "at its end, by the usage so far"],
  ])
    .argument("<subscription>", "id, or ext:<external_id>")
    .addOption(new Option("--at <when>", "now by default").choices(["now", "period_end"]));
  return [
    actionCommand<Flags & { at?: "now" | "period_end" }>(
      io,
      preview,
      async (dues, { at }, ref = "") =>
        dues.previewInvoice({
          subscription_id: await subscriptionId(dues, ref),
          ...(at !== undefined && { at }),
        }),
    ),
    actionCommand<Flags>(
      io,
      remote("void", "Void an unpaid invoice.", [
        ["dues invoices void INV-2026-0001", ""],
      ]).argument("<invoice>", "id or number"),
      async (dues, _flags, ref = "") => dues.voidInvoice(await invoiceId(dues, ref)),
    ),
  ];
}

export function usageCommand(io: Io): Command {
  const made = remote("usage", "Usage and amounts of a subscription's open period so far.", [
    ["dues usage ext:acme-pro", ""],
  ]).argument("<subscription>", "id, or ext:<external_id>");
  return made.option("--json", "print JSON").action(
    withConnection<Flags>(io, async ({ dues }, flags, ref = "") => {
      const answer = await dues.getSubscriptionUsage(pathRef(ref));
      if (flags.json) return printJson(io, answer);
      const { usage } = answer;
      const day = (at: string) => at.slice(0, 10);
      io.out(`${day(usage.period_start)} to ${day(usage.period_end)}\n`);
      for (const charge of usage.charges) {
        const amount = money(charge.amount_cents, usage.currency);
        const metric = clean(charge.billable_metric_code);
        io.out(`${metric}: ${charge.units} at ${charge.rate} = ${amount}\n`);
      }
      io.out(`Together: ${money(usage.amount_cents, usage.currency)}\n`);
    }),
  );
}
