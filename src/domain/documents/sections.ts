// The lines of an invoice of several parts under their headings: whose they are, and of which
// period. An invoice of one part has none.

import type { Fee, InvoicePart, InvoiceWithFees } from "../../schema/invoices.ts";
import { groupBy } from "../group-by.ts";
import { sumCents } from "../money.ts";
import { formatMoney, formatPeriod } from "./format.ts";
import { type DocumentLine, type DocumentNames, planNameOf } from "./lines.ts";

/** Lines under one heading, and below it their sum where a heading is that of a subscription. */
export type DocumentSection = {
  /** The subscription whose lines follow; undefined where all are of one. */
  readonly heading: DocumentHeading | undefined;
  readonly parts: readonly {
    /** The period; "" where the heading of the subscription says it. */
    readonly title: string;
    readonly lines: readonly DocumentLine[];
  }[];
  readonly subtotal: { readonly label: string; readonly amount: string } | undefined;
};

/** A subscription, and its plan, or its plan and period. */
export type DocumentHeading = { readonly title: string; readonly detail: string };

/** A line as it is drawn, and the fee that it is of. */
export type FeeLine = {
  readonly line: DocumentLine;
  readonly fee: Fee;
  /** What it adds to the subtotal. */
  readonly cents: number;
};

type SectionPart = Pick<
  InvoicePart,
  | "part"
  | "subscription_id"
  | "subscription_external_id"
  | "plan_code"
  | "period_start"
  | "period_end"
>;

type Section = {
  readonly part: SectionPart;
  readonly plan: string;
  readonly lines: readonly FeeLine[];
};

type Billed = Pick<InvoiceWithFees, "currency"> & {
  readonly parts: readonly SectionPart[];
  readonly fees: readonly Fee[];
};

export function sectionsOf(
  { parts, fees, currency }: Billed,
  drawn: readonly FeeLine[],
  { plans }: Pick<DocumentNames, "plans">,
): DocumentSection[] {
  if (parts.length < 2) return [];
  const names = { plans: new Map([...plans, ...baseNames(fees)]) };
  const lines = groupBy(drawn, ({ fee }) => fee.part);
  const billed = groupBy(fees, (fee) => fee.part);
  const sections = parts.flatMap((part): Section[] => {
    const own = lines.get(part.part);
    const plan = planNameOf(billed.get(part.part) ?? [], names) ?? part.plan_code ?? "";
    return own === undefined ? [] : [{ part, plan, lines: own }];
  });
  if (new Set(parts.map(({ subscription_id }) => subscription_id)).size === 1) {
    return [{ heading: undefined, parts: periodsOf(sections), subtotal: undefined }];
  }
  const bySubscription = groupBy(sections, ({ part }) => part.subscription_id);
  return [...bySubscription.values()].map((own) => sectionOf(own, currency));
}

/** What plans are called on this invoice, by code, as far as a base fee says it. */
function baseNames(fees: readonly Fee[]): (readonly [code: string, name: string])[] {
  return fees.flatMap(({ fee_type, properties: { plan_code, name } }) => {
    const isNamed = fee_type === "subscription" && typeof plan_code === "string";
    return isNamed && typeof name === "string" ? [[plan_code, name] as const] : [];
  });
}

/** The section of a subscription: with one period, its heading says that too. */
function sectionOf(own: readonly Section[], currency: string): DocumentSection {
  const [first] = own;
  const last = own.at(-1);
  if (first === undefined || last === undefined) throw new Error("A group is never empty.");
  const lines = own.flatMap((section) => section.lines);
  const amount = formatMoney(sumCents(lines.map(({ cents }) => cents)), currency);
  const isSingle = own.length === 1;
  const detail = isSingle ? `${first.plan}, ${periodOf(first.part)}` : last.plan;
  return {
    heading: { title: first.part.subscription_external_id ?? "", detail },
    parts: isSingle ? [{ title: "", lines: lines.map(lineOf) }] : periodsOf(own),
    subtotal: { label: "Subtotal", amount },
  };
}

/** Each with its period, and with its plan where that changes on the way. */
function periodsOf(sections: readonly Section[]): DocumentSection["parts"] {
  const isChanged = new Set(sections.map(({ plan }) => plan)).size > 1;
  return sections.map(({ part, plan, lines }) => {
    const period = periodOf(part);
    const title = isChanged ? `${plan}, ${period}` : period;
    return { title, lines: lines.map(lineOf) };
  });
}

function periodOf({ period_start, period_end }: SectionPart): string {
  return formatPeriod(period_start, period_end);
}

function lineOf({ line }: FeeLine): DocumentLine {
  return line;
}
