// `dues <resource> list` and `get`: what each shows, which filters it takes, how it pages.

import type { Command } from "commander";
import type { Dues } from "../../client/dues.ts";
import type { Customer, Invoice, Payment, Subscription } from "../../client/types.ts";
import { INVOICE_STATUSES, PAYMENT_STATUSES, SUBSCRIPTION_STATUSES } from "../../schema/enums.ts";
import { type Example, remote, wholeNumber, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import {
  customerId,
  getCustomer,
  invoiceId,
  pathRef,
  planId,
  subscriptionId,
} from "../connection/refs.ts";
import { type Io, printJson } from "../terminal/io.ts";
import { fields, money } from "../terminal/output.ts";
import { STATUS } from "../terminal/status.ts";
import { type Column, type Screen, tableText } from "../terminal/table.ts";
import { renderInvoice } from "./render-invoice.ts";

const LIMIT = 20;
const PAGE_MAX = 500;

type Flags = ConnectionFlags & {
  readonly json?: boolean;
  readonly limit: number;
  readonly all?: boolean;
  readonly wide?: boolean;
} & { readonly [filter: string]: unknown };

type Paged = { readonly limit: number };

type Filter = {
  readonly flag: string;
  readonly says: string;
  readonly choices?: readonly string[];
};

type ListSpec<Row> = {
  readonly name: string;
  /** The name of the list in the API's answer, and in that of --json. */
  readonly many: string;
  readonly says: string;
  readonly examples: readonly Example[];
  readonly filters: readonly Filter[];
  readonly columns: readonly Column<Row>[];
  /** `page.limit` is how many rows to ask for at a time. */
  read(
    dues: Dues,
    flags: Flags,
    page: Paged,
  ): AsyncIterable<Row> | Promise<AsyncIterable<Row> | readonly Row[]>;
};

export function listCommand<Row>(io: Io, list: ListSpec<Row>): Command {
  const made = remote("list", "reads", list.says, list.examples)
    .option("--limit <count>", "how many at most", wholeNumber(1, 1_000_000), LIMIT)
    .option("--all", "every one, however many there are")
    .option("--wide", "every column in full, also where the terminal is narrower")
    .option("--json", "print JSON");
  for (const { flag, says, choices } of list.filters) {
    const option = made.createOption(flag, says);
    made.addOption(choices === undefined ? option : option.choices([...choices]));
  }
  return made.action(
    withConnection<Flags>(io, async ({ dues }, flags) => {
      const rows: Row[] = [];
      const most = flags.all ? Number.POSITIVE_INFINITY : flags.limit;
      let more = false;
      // One row more than is shown, to know whether there are more.
      const page = { limit: Math.min(most + 1, PAGE_MAX) };
      for await (const row of await list.read(dues, flags, page)) {
        if (rows.length >= most) {
          more = true;
          break;
        }
        rows.push(row);
      }
      if (flags.json) return printJson(io, { [list.many]: rows, has_more: more });
      if (rows.length === 0) io.out("None.\n");
      else io.out(await tableText(io, list.columns, rows, flags.wide));
      if (more) io.err(`There are more: --all shows every one, --limit another number.\n`);
    }),
  );
}

type GetSpec = {
  readonly name: string;
  readonly says: string;
  readonly ref: string;
  /** Help for the argument, where it is not an id or name. */
  readonly means?: string;
  readonly example: string;
};

/** `text` shows the answer; its record field by field, where nothing else is said. */
export function getCommand<Answer extends object>(
  io: Io,
  what: GetSpec,
  read: (dues: Dues, ref: string) => Promise<Answer>,
  text: (screen: Screen, answer: Answer) => Promise<string> = answerText,
): Command {
  return remote("get", "reads", what.says, [[`dues ${what.name} get ${what.example}`, ""]])
    .argument(`<${what.ref}>`, what.means ?? "id, or the name that people know it by")
    .option("--json", "print JSON")
    .action(
      withConnection<ConnectionFlags & { json?: boolean }>(
        io,
        async ({ dues }, flags, ref = "") => {
          const answer = await read(dues, ref);
          if (flags.json) return printJson(io, answer);
          io.out(await text(io, answer));
        },
      ),
    );
}

/** The one record of an answer. */
export function answerText(screen: Screen, answer: object): Promise<string> {
  const [record] = Object.values(answer) as object[];
  return recordText(screen, record ?? {});
}

/** The fields of a record, then each list in it as a table. */
export async function recordText(screen: Screen, record: object): Promise<string> {
  const entries = Object.entries(record);
  const isList = (value: unknown): value is object[] =>
    Array.isArray(value) && value.length > 0 && typeof value[0] === "object";
  const lists = entries.filter((entry): entry is [string, object[]] => isList(entry[1]));
  const plain = entries.filter(([, value]) => !isList(value));
  const tables = lists.map(async ([name, rows]) => {
    const names = Object.keys(rows[0] ?? {}).filter(
      (field) =>
        !/^(id|plan_id|charge_id|created_at)$/.test(field) &&
        rows.some((row) => (row as Record<string, unknown>)[field] !== null),
    );
    const columns = names.map((title) => ({
      title,
      cut: true as const,
      of: (row: object) => cell((row as Record<string, unknown>)[title]),
    }));
    return `\n${name}:\n${await tableText(screen, columns, rows)}`;
  });
  return fields(Object.fromEntries(plain)) + (await Promise.all(tables)).join("");
}

function cell(value: unknown): string | number | null {
  if (typeof value === "string" || typeof value === "number") return value;
  return value === null || value === undefined ? null : JSON.stringify(value);
}

export const day = (at: string | null) => at?.slice(0, 10) ?? null;
export const CUSTOMER: Filter = { flag: "--customer <customer>", says: "of this customer" };

export function customerReads(io: Io): Command[] {
  const list = listCommand<Customer>(io, {
    name: "customers",
    many: "customers",
    says: "List customers, newest first.",
    examples: [
      ["dues customers list --all", "every customer"],
      ["dues customers list --search acme", "by the beginning of words of name, email or your id"],
    ],
    filters: [{ flag: "--search <text>", says: "words of name, email or your id, or a short id" }],
    columns: [
      { title: "EXTERNAL ID", of: (row) => row.external_id },
      { title: "NAME", cut: true, of: (row) => row.name },
      { title: "EMAIL", cut: true, of: (row) => row.email },
      { title: "CURRENCY", drop: 3, of: (row) => row.currency },
      { title: "CREATED", drop: 2, of: (row) => day(row.created_at) },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    read: (dues, { search }, page) =>
      dues.customers.all({ ...page, ...(search !== undefined && { search: String(search) }) }),
  });
  const what = {
    name: "customers",
    says: "Show a customer.",
    ref: "customer",
    example: "ext:acme",
  };
  return [list, getCommand(io, what, getCustomer)];
}

export function subscriptionReads(io: Io): Command[] {
  const list = listCommand<Subscription>(io, {
    name: "subscriptions",
    many: "subscriptions",
    says: "List subscriptions, newest first.",
    examples: [
      ["dues subscriptions list --customer ext:acme --status active", ""],
      ["dues subscriptions list --billing-error", "those that cannot be billed, and why"],
    ],
    filters: [
      CUSTOMER,
      { flag: "--plan <plan>", says: "on this plan" },
      { flag: "--status <status>", says: "in this state", choices: SUBSCRIPTION_STATUSES },
      { flag: "--billing-error", says: "only those that cannot be billed" },
    ],
    columns: [
      { title: "EXTERNAL ID", of: (row) => row.external_id },
      { title: "CUSTOMER", cut: true, of: (row) => row.customer_external_id },
      { title: "PLAN", cut: true, of: (row) => row.plan_code },
      STATUS,
      {
        title: "BILLING ERROR",
        where_set: true,
        cut: true,
        of: (row) => row.billing_error,
        style: () => "red",
      },
      {
        title: "PERIOD",
        drop: 4,
        of: (row) => `${day(row.current_period_start)} to ${day(row.current_period_end)}`,
      },
      { title: "TRIAL ENDS", where_set: true, of: (row) => day(row.trial_ends_at) },
      { title: "ENDS", where_set: true, of: (row) => day(row.ends_at) },
      { title: "NEXT PLAN", where_set: true, drop: 2, of: (row) => row.scheduled_plan_id },
      { title: "PROPERTIES", drop: 3, cut: true, of: (row) => row.properties },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    async read(dues, { customer, plan, status, billingError }, page) {
      return dues.subscriptions.all({
        ...page,
        ...(billingError === true && { billing_error: "1" as const }),
        ...(typeof customer === "string" && { customer_id: await customerId(dues, customer) }),
        ...(typeof plan === "string" && { plan_id: await planId(dues, plan) }),
        ...(typeof status === "string" && { status: status as Subscription["status"] }),
      });
    },
  });
  const what = {
    name: "subscriptions",
    says: "Show a subscription.",
    ref: "subscription",
    example: "ext:acme-pro",
  };
  return [list, getCommand(io, what, (dues, ref) => dues.getSubscription(pathRef(ref)))];
}

/** Shown where one of the invoices has it. */
function amount(of: (row: Invoice) => number) {
  const text = (row: Invoice) => (of(row) === 0 ? null : money(of(row), row.currency));
  return { right: true, where_set: true, of: text } as const;
}

export function invoiceReads(io: Io): Command[] {
  const list = listCommand<Invoice>(io, {
    name: "invoices",
    many: "invoices",
    says: "List invoices, newest first.",
    examples: [["dues invoices list --status overdue", ""]],
    filters: [
      CUSTOMER,
      { flag: "--subscription <subscription>", says: "of this subscription" },
      { flag: "--status <status>", says: "in this state", choices: INVOICE_STATUSES },
      { flag: "--payment-status <status>", says: "paid so far", choices: PAYMENT_STATUSES },
    ],
    columns: [
      { title: "NUMBER", of: (row) => row.number },
      { title: "CUSTOMER", cut: true, of: (row) => row.customer_external_id },
      STATUS,
      { title: "DISCOUNT", drop: 4, ...amount((row) => row.discount_cents) },
      { title: "TAX", drop: 4, ...amount((row) => row.tax_cents) },
      { title: "TOTAL", right: true, of: (row) => money(row.total_cents, row.currency) },
      { title: "DUE", right: true, of: (row) => money(row.amount_due_cents, row.currency) },
      { title: "ISSUED", drop: 3, of: (row) => row.issuing_date },
      { title: "DUE BY", of: (row) => row.due_date },
      { title: "PERIOD", drop: 2, of: (row) => `${row.period_start} to ${row.period_end}` },
    ],
    async read(dues, { customer, subscription, status, paymentStatus }, page) {
      return dues.invoices.all({
        ...page,
        ...(typeof customer === "string" && { customer_id: await customerId(dues, customer) }),
        ...(typeof subscription === "string" && {
          subscription_id: await subscriptionId(dues, subscription),
        }),
        ...(typeof status === "string" && { status: status as Invoice["status"] }),
        ...(typeof paymentStatus === "string" && {
          payment_status: paymentStatus as Invoice["payment_status"],
        }),
      });
    },
  });
  const what = {
    name: "invoices",
    says: "Show an invoice with its fees.",
    ref: "invoice",
    example: "INV-2026-0001",
  };
  return [
    list,
    getCommand(
      io,
      what,
      async (dues, ref) => dues.getInvoice(await invoiceId(dues, ref)),
      (screen, { invoice }) => renderInvoice(screen, invoice),
    ),
  ];
}

export function paymentReads(io: Io): Command[] {
  const list = listCommand<Payment>(io, {
    name: "payments",
    many: "payments",
    says: "List payments, newest first.",
    examples: [["dues payments list --invoice INV-2026-0001", ""]],
    filters: [CUSTOMER, { flag: "--invoice <invoice>", says: "of this invoice" }],
    columns: [
      { title: "PAID", of: (row) => day(row.paid_at) },
      { title: "AMOUNT", right: true, of: (row) => money(row.amount_cents, row.currency) },
      { title: "PROVIDER", of: (row) => row.provider },
      { title: "PROVIDER'S ID", cut: true, of: (row) => row.provider_payment_id },
      { title: "INVOICE ID", drop: 2, of: (row) => row.invoice_id },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    async read(dues, { customer, invoice }, page) {
      return dues.payments.all({
        ...page,
        ...(typeof customer === "string" && { customer_id: await customerId(dues, customer) }),
        ...(typeof invoice === "string" && { invoice_id: await invoiceId(dues, invoice) }),
      });
    },
  });
  const what = { name: "payments", says: "Show a payment.", ref: "id", example: "<id>" };
  return [list, getCommand(io, what, (dues, ref) => dues.getPayment(ref))];
}
