// The commands that do something with one record: start, change and end subscriptions, apply
// add-ons, record payments, preview and void invoices.

import { randomUUID } from "node:crypto";
import { type Command, Option } from "commander";
import type { Dues } from "../../client/dues.ts";
import type { Invoice, PreviewInvoiceReply, SubscriptionUsage } from "../../client/types.ts";
import { BILLING_TIMES, CHANGE_TIMES, TRIAL_DAYS_MAX } from "../../schema/enums.ts";
import {
  calendarDate,
  type Example,
  instant,
  property,
  remote,
  wholeNumber,
  withConnection,
} from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import {
  addOnId,
  customerId,
  invoiceId,
  pathRef,
  planId,
  subscriptionId,
} from "../connection/refs.ts";
import { CliError, type Io, printJson } from "../terminal/io.ts";
import { clean, money } from "../terminal/output.ts";
import type { Screen } from "../terminal/table.ts";
import { answerText } from "./lists.ts";
import { dimensionsText, renderPreviews } from "./render-preview.ts";

type Flags = ConnectionFlags & { readonly json?: boolean };

/** Adds --json and the action to a command whose answer is one record, or has a text of its own. */
function actionCommand<F extends Flags, Answer extends object = object>(
  io: Io,
  made: Command,
  work: (dues: Dues, flags: F, ...args: string[]) => Promise<Answer>,
  text: (screen: Screen, answer: Answer) => Promise<string> = answerText,
): Command {
  return made.option("--json", "print JSON").action(
    withConnection<F>(io, async ({ dues }, flags, ...args) => {
      const answer = await work(dues, flags, ...args);
      if (flags.json) return printJson(io, answer);
      io.out(await text(io, answer));
    }),
  );
}

type CreateFlags = Flags & {
  readonly customer: string;
  readonly plan: string;
  readonly externalId?: string;
  readonly property?: Record<string, unknown>;
  readonly billingTime?: (typeof BILLING_TIMES)[number];
  readonly anchorDate?: string;
  readonly trialDays?: number;
  readonly startsAt?: string;
  readonly endsAt?: string;
};

function createSubscription(io: Io): Command {
  const ref = "--customer ext:acme --plan pro";
  const made = remote("create", "writes", "Start a subscription, now or at another time.", [
    [`dues subscriptions create ${ref} --property seats=5`, "active from now on"],
    [
      `dues subscriptions create ${ref} --starts-at 2027-01-01 --trial-days 14`,
      "pending till then",
    ],
    [
      `dues subscriptions create ${ref} --billing-time anniversary`,
      "its periods begin on the day of its start",
    ],
  ])
    .requiredOption("--customer <customer>", "id, or ext:<external_id>")
    .requiredOption("--plan <plan>", "id or code")
    .option("--external-id <id>", "your own identifier of the subscription")
    .option("--property <name=value>", "a property; may be given again", property)
    .addOption(
      new Option("--billing-time <when>", "when periods begin; calendar by default").choices(
        BILLING_TIMES,
      ),
    )
    .option("--anchor-date <date>", "anniversary: counted from this date", calendarDate)
    .option(
      "--trial-days <days>",
      "days that are billed nothing; the plan's by default",
      wholeNumber(0, TRIAL_DAYS_MAX),
    )
    .option("--starts-at <instant>", "a date or a timestamp; now by default", instant)
    .option("--ends-at <instant>", "terminate it then", instant);
  return actionCommand<CreateFlags>(io, made, async (dues, flags) =>
    dues.createSubscription({
      customer_id: await customerId(dues, flags.customer),
      plan_id: await planId(dues, flags.plan),
      ...(flags.externalId !== undefined && { external_id: flags.externalId }),
      ...(flags.property !== undefined && { properties: flags.property }),
      ...(flags.billingTime !== undefined && { billing_time: flags.billingTime }),
      ...(flags.anchorDate !== undefined && { anchor_date: flags.anchorDate }),
      ...(flags.trialDays !== undefined && { trial_days: flags.trialDays }),
      ...(flags.startsAt !== undefined && { starts_at: flags.startsAt }),
      ...(flags.endsAt !== undefined && { ends_at: flags.endsAt }),
    }),
  );
}

type ChangeFlags = Flags & {
  readonly plan: string;
  readonly at?: (typeof CHANGE_TIMES)[number];
  readonly property?: Record<string, unknown>;
};

function changeSubscription(io: Io): Command {
  const made = remote("change", "writes", "Move a subscription to another plan.", [
    ["dues subscriptions change ext:acme-pro --plan scale", "now: the open period is billed"],
    ["dues subscriptions change ext:acme-pro --plan scale --at period_end", "with the next period"],
    ["dues invoices preview ext:acme-pro --plan scale", "what the change would bill"],
  ])
    .argument("<subscription>", "id, or ext:<external_id>")
    .requiredOption("--plan <plan>", "id or code; its present one takes a scheduled change back")
    .addOption(new Option("--at <when>", "now by default").choices(CHANGE_TIMES))
    .option("--property <name=value>", "a property; may be given again", property);
  return actionCommand<ChangeFlags>(io, made, async (dues, flags, ref = "") =>
    dues.updateSubscription(pathRef(ref), {
      plan_id: await planId(dues, flags.plan),
      ...(flags.at !== undefined && { change_at: flags.at }),
      ...(flags.property !== undefined && { properties: flags.property }),
    }),
  );
}

type UpdateFlags = Flags & {
  readonly property?: Record<string, unknown>;
  readonly endsAt?: string;
  readonly trialDays?: number;
};

function updateSubscription(io: Io): Command {
  const made = remote("update", "writes", "Change a subscription's properties, trial or end.", [
    ["dues subscriptions update ext:acme-pro --property seats=8", "the others stay as they are"],
    ["dues subscriptions update ext:acme-pro --ends-at 2027-07-01", "it terminates then"],
    ["dues subscriptions update ext:acme-pro --ends-at never", "it goes on"],
  ])
    .argument("<subscription>", "id, or ext:<external_id>")
    .option("--property <name=value>", "a property; may be given again", property)
    .option("--ends-at <instant>", "a date or a timestamp, or never", (text) => {
      return text === "never" ? text : instant(text);
    })
    .option("--trial-days <days>", "of a trial that runs", wholeNumber(0, TRIAL_DAYS_MAX));
  return actionCommand<UpdateFlags>(io, made, async (dues, flags, ref = "") => {
    const body = {
      ...(flags.property !== undefined && { properties: flags.property }),
      ...(flags.endsAt !== undefined && {
        ends_at: flags.endsAt === "never" ? null : flags.endsAt,
      }),
      ...(flags.trialDays !== undefined && { trial_days: flags.trialDays }),
    };
    if (Object.keys(body).length === 0) {
      throw new CliError("usage", "What should change?", "For example: --property seats=8");
    }
    return dues.updateSubscription(pathRef(ref), body);
  });
}

const DROP_UNBILLED = ["--drop-unbilled", "give up what cannot be billed"] as const;

/** The flags of commands that move a subscription; most of these take none of them. */
type MoveFlags = Flags & { readonly invoice?: boolean; readonly dropUnbilled?: boolean };

function unbilledOf({ dropUnbilled }: MoveFlags): { unbilled?: "drop" } {
  return dropUnbilled === true ? { unbilled: "drop" } : {};
}

export function subscriptionActions(io: Io): Command[] {
  const move = (
    name: string,
    says: string,
    work: (dues: Dues, ref: string, flags: MoveFlags) => Promise<object>,
    examples?: readonly Example[],
  ) => {
    const made = remote(
      name,
      "writes",
      says,
      examples ?? [[`dues subscriptions ${name} ext:acme-pro`, ""]],
    );
    made.argument("<subscription>", "id, or ext:<external_id>");
    return actionCommand<MoveFlags>(io, made, (dues, flags, ref = "") =>
      work(dues, pathRef(ref), flags),
    );
  };
  const terminate = move(
    "terminate",
    "End a subscription and bill the open period now.",
    (dues, ref, flags) =>
      dues.terminateSubscription(ref, {
        invoice: flags.invoice === false ? "skip" : "create",
        ...unbilledOf(flags),
      }),
  )
    .option("--no-invoice", "without a final invoice")
    .option(...DROP_UNBILLED);
  return [
    createSubscription(io),
    updateSubscription(io),
    changeSubscription(io),
    move(
      "suspend",
      "Suspend a subscription: usage still counts, whole days are free.",
      (dues, ref) => dues.suspendSubscription(ref),
    ),
    move("resume", "Make a suspended subscription active again.", (dues, ref) =>
      dues.updateSubscription(ref, { status: "active" }),
    ),
    terminate,
    move("cancel", "End a subscription without billing the open period.", (dues, ref, flags) =>
      dues.updateSubscription(ref, { status: "canceled", ...unbilledOf(flags) }),
    ).option(...DROP_UNBILLED),
  ];
}

export function addOnActions(io: Io): Command[] {
  const apply = remote("apply", "writes", "Apply an add-on to a customer: an invoice at once.", [
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
  type PaymentFlags = Flags & {
    amount?: number;
    allowOverpayment?: boolean;
    provider: string;
    providerPaymentId?: string;
    reference?: string;
    paidAt?: string;
  };
  const made = remote(
    "record",
    "writes",
    "Record a payment of an invoice: all that is due, or a part.",
    [
      ["dues payments record INV-2026-0001", "all that is due"],
      ["dues payments record INV-2026-0001 --amount 5000 --reference 'cheque 12'", "50.00 of it"],
      [
        "dues payments record INV-2026-0001 --amount 20000 --allow-overpayment",
        "what is too much becomes credit",
      ],
    ],
  )
    .argument("<invoice>", "id or number")
    .option("--amount <cents>", "in the smallest currency unit", wholeNumber(1, 1e15))
    .option("--allow-overpayment", "more than is due: the rest is kept as credit")
    .option("--provider <name>", "who took the money", "manual")
    .option("--provider-payment-id <id>", "the provider's reference: recorded once")
    .option("--reference <text>", "a note")
    .option("--paid-at <timestamp>", "when; now by default");
  return [
    actionCommand<PaymentFlags>(io, made, async (dues, flags, ref = "") => {
      const { invoice } = await dues.getInvoice(await invoiceId(dues, ref));
      if (invoice.amount_due_cents === 0 && flags.amount === undefined) {
        throw new CliError("failed", `Nothing is due on ${invoice.number}.`);
      }
      refuseTooMuch(invoice, flags);
      return dues.recordPayment({
        invoice_id: invoice.id,
        amount_cents: flags.amount ?? invoice.amount_due_cents,
        currency: invoice.currency,
        provider: flags.provider,
        provider_payment_id: flags.providerPaymentId ?? randomUUID(),
        ...(flags.allowOverpayment === true && { allow_overpayment: true }),
        ...(flags.reference !== undefined && { reference: flags.reference }),
        ...(flags.paidAt !== undefined && { paid_at: flags.paidAt }),
      });
    }),
  ];
}

/** Refuses more than is due, as the service does too; here the amounts have their currency. */
function refuseTooMuch(
  { number, amount_due_cents, currency }: Invoice,
  { amount = 0, allowOverpayment }: { amount?: number; allowOverpayment?: boolean },
): void {
  if (amount <= amount_due_cents || allowOverpayment === true) return;
  const due = money(amount_due_cents, currency);
  throw new CliError(
    "failed",
    `${money(amount, currency)} is more than is due on ${number}: ${due}.`,
    "--allow-overpayment keeps the rest as credit. Amounts are in the smallest unit: 5000 is 50.00.",
  );
}

type PreviewFlags = Flags & Partial<ChangeFlags> & { readonly customer?: string };

async function previewAsked(
  dues: Dues,
  { at, plan, customer }: PreviewFlags,
  ref?: string,
): Promise<PreviewInvoiceReply> {
  if ((ref === undefined) === (customer === undefined)) {
    throw new CliError("usage", "Name a subscription, or a customer with --customer.");
  }
  if (customer !== undefined) {
    return dues.previewInvoice({ customer_id: await customerId(dues, customer), at: "next" });
  }
  return dues.previewInvoice({
    subscription_id: await subscriptionId(dues, ref ?? ""),
    ...(at !== undefined && { at }),
    ...(plan !== undefined && { plan_id: await planId(dues, plan) }),
  });
}

export function invoiceActions(io: Io): Command[] {
  const preview = remote(
    "preview",
    "reads",
    "What a subscription would be billed; nothing is stored.",
    [
      ["dues invoices preview ext:acme-pro", "as if the period ended now"],
      ["dues invoices preview ext:acme-pro --at period_end", "at its end, by the usage so far"],
      [
        "dues invoices preview ext:acme-pro --plan scale",
        "as if the plan changed, and what follows",
      ],
      ["dues invoices preview --customer ext:acme", "all that falls due next, on its invoices"],
    ],
  )
    .argument("[subscription]", "id, or ext:<external_id>")
    .addOption(
      new Option("--customer <customer>", "what its next invoices will be").conflicts([
        "at",
        "plan",
      ]),
    )
    .addOption(new Option("--at <when>", "now by default").choices(CHANGE_TIMES))
    .option("--plan <plan>", "as if it changed to this plan; id or code");
  return [
    actionCommand<PreviewFlags, PreviewInvoiceReply>(io, preview, previewAsked, renderPreviews),
    actionCommand<Flags>(
      io,
      remote("void", "writes", "Void an unpaid invoice.", [
        ["dues invoices void INV-2026-0001", ""],
      ]).argument("<invoice>", "id or number"),
      async (dues, _flags, ref = "") => dues.voidInvoice(await invoiceId(dues, ref)),
    ),
  ];
}

export function usageCommand(io: Io): Command {
  const made = remote(
    "usage",
    "reads",
    "Usage and amounts of a subscription's open period so far.",
    [["dues usage ext:acme-pro", ""]],
  ).argument("<subscription>", "id, or ext:<external_id>");
  return made.option("--json", "print JSON").action(
    withConnection<Flags>(io, async ({ dues }, flags, ref = "") => {
      const answer = await dues.getSubscriptionUsage(pathRef(ref));
      if (flags.json) return printJson(io, answer);
      const { usage } = answer;
      const day = (at: string) => at.slice(0, 10);
      io.out(`${day(usage.period_start)} to ${day(usage.period_end)}\n`);
      for (const charge of usage.charges) {
        const amount = money(charge.amount_cents, usage.currency);
        io.out(`${usageName(charge)}: ${charge.units} ${usageRate(charge)} = ${amount}\n`);
      }
      io.out(`Together: ${money(usage.amount_cents, usage.currency)}\n`);
    }),
  );
}

type UsageCharge = SubscriptionUsage["charges"][number];

/** The charge as documents call it, and the combination of dimensions that the line is for. */
function usageName({ name, dimensions }: UsageCharge): string {
  return clean([name, dimensionsText(dimensions)].filter(Boolean).join(", "));
}

function usageRate({ rate, charge_model }: UsageCharge): string {
  return rate === null ? `(${charge_model})` : `at ${rate}`;
}
