// All that a period is billed when it ends, and what late usage changes of it afterwards. Every
// line has a key under which the closed period remembers what was billed.

import { decimal, formatDecimal, subtract } from "./decimal.ts";
import { sumCents } from "./money.ts";
import { billedDates } from "./periods.ts";
import {
  type Advance,
  arrearsFlatFee,
  BASE_LINE,
  type BilledDays,
  baseFee,
  type Days,
  daysOf,
  type FeeDraft,
  moneyOf,
  type Names,
  type PlanVersion,
  type PricedCharge,
} from "./pricing.ts";
import type { Quantities } from "./quantities.ts";
import {
  type Line,
  type Metered,
  minimumFee,
  minimumKey,
  minimumTarget,
  usageLines,
} from "./usage-fees.ts";

/** What all invoices so far say that a period's usage is and costs, by the key of the line. */
export type Billed = Readonly<Record<string, BilledLine>>;
export type BilledLine = {
  readonly units: string;
  readonly amount_cents: number;
  readonly minimum?: BilledMinimum;
};
/** A minimum as it was billed: what the period must reach, for which days. */
type BilledMinimum = Days & {
  readonly target_cents: number;
  /** Fees that count towards the plan's minimum and that no late usage changes. */
  readonly fixed_cents: number;
};

export type PeriodClose = {
  readonly list: PlanVersion;
  readonly metered: Metered;
  readonly billed_days: BilledDays;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly quantities: Quantities;
  readonly advance: Advance | null;
  readonly names: Names;
};

export type PeriodFees = {
  /** The base fee, then charge by charge its lines and its minimum, then the plan's minimum. */
  readonly fees: readonly FeeDraft[];
  /** The base fee as finally due, less what was billed for it in advance. */
  readonly base_correction: FeeDraft | undefined;
  readonly billed: Billed;
};

const PLAN_MINIMUM = minimumKey(null);

/** What is billed when a period ends. */
export function arrearsFees(close: PeriodClose): PeriodFees {
  const { list, metered, billed_days, names, advance } = close;
  const base = baseFee(list, billed_days, names);
  const days = daysOf(billed_days);
  const fees: FeeDraft[] = base === undefined || list.base_timing === "advance" ? [] : [base];
  const billed: Record<string, BilledLine> = {};
  const fixed = [base?.amount_cents ?? 0, advance?.flat_cents ?? 0];
  const lines: Line[] = [];
  const write = (line: Line) => {
    lines.push(line);
    billed[line.key] = billedLine(line);
    if (!isMet(line)) fees.push(line.fee);
  };
  for (const charge of list.charges) {
    if (charge.invoice_timing !== "arrears") continue;
    if (charge.charge_model === "flat_fee") {
      const flat = { ...close, billed: billed_days, period: metered };
      const fee = arrearsFlatFee(charge, list, flat, names);
      fees.push(fee);
      fixed.push(fee.amount_cents);
    } else {
      chargeLines(charge, { list, metered, names }, (cents) => minimumOf(cents, days)).forEach(
        write,
      );
    }
  }
  const minimum = { ...minimumOf(list.minimum_cents, days), fixed_cents: sumCents(fixed) };
  if (list.minimum_cents > 0) write(planMinimum({ list, metered, names }, minimum, lines));
  return { fees, base_correction: baseCorrection(list, base, advance, names), billed };
}

/** A period that bills nothing, not even the base fee that was billed for it in advance. */
export function noFees(list: PlanVersion, advance: Advance | null, names: Names): PeriodFees {
  const base_correction = baseCorrection(list, undefined, advance, names);
  return { fees: [], base_correction, billed: {} };
}

type Rating = Pick<PeriodClose, "list" | "metered" | "names">;

/** The lines of a usage charge and, where it has one, that of its minimum, be it met or not. */
function chargeLines(
  charge: PricedCharge,
  { list, metered, names }: Rating,
  minimumFor: (minimum_cents: number) => BilledMinimum | undefined,
  combinations: readonly string[] = [],
): Line[] {
  const lines = usageLines(charge, list, metered, names, combinations);
  const minimum_cents = charge.price?.minimum_cents ?? 0;
  const minimum = minimum_cents === 0 ? undefined : minimumFor(minimum_cents);
  if (minimum === undefined) return lines;
  const key = minimumKey(charge);
  return [...lines, { key, ...minimumFee(charge, minimum_cents, minimum, lines, list, names) }];
}

function planMinimum(rating: Rating, minimum: BilledMinimum, lines: readonly Line[]): Line {
  const { list, names } = rating;
  const key = PLAN_MINIMUM;
  return { key, ...minimumFee(null, list.minimum_cents, minimum, lines, list, names) };
}

function minimumOf(minimum_cents: number, days: Days): BilledMinimum {
  return { ...days, target_cents: minimumTarget(minimum_cents, days), fixed_cents: 0 };
}

function billedLine({ fee, minimum }: Line): BilledLine {
  const { units, amount_cents } = fee;
  return minimum === undefined ? { units, amount_cents } : { units, amount_cents, minimum };
}

/** Whether this is a minimum that is met: no line shows it, but late usage may undo it. */
function isMet({ fee }: Line): boolean {
  return fee.fee_type === "minimum" && fee.amount_cents === 0;
}

/**
 * The base fee of the days that count, less what was billed in advance. Mostly nothing: only an
 * early end, a change of plan or a suspension gives days back.
 */
function baseCorrection(
  list: PlanVersion,
  base: FeeDraft | undefined,
  advance: Advance | null,
  names: Names,
): FeeDraft | undefined {
  if (list.base_timing !== "advance") return undefined;
  const billed_amount_cents = advance?.base_cents ?? 0;
  const corrected_amount_cents = base?.amount_cents ?? 0;
  const amount_cents = sumCents([corrected_amount_cents, -billed_amount_cents]);
  if (amount_cents === 0) return undefined;
  return {
    fee_type: "adjustment",
    charge_id: null,
    billable_metric_code: null,
    units: "1",
    amount_cents,
    properties: {
      name: names.plan,
      amount_cents: list.amount_cents,
      plan_code: list.plan_code,
      plan_version: list.version,
      ...base?.properties,
      billed_amount_cents,
      corrected_amount_cents,
    },
    money: moneyOf(list, null, BASE_LINE),
  };
}

/**
 * Re-rates a closed period at its own prices: each line is the fee for all usage known now, less
 * everything billed for it so far. `usage` must hold every metric of the list, not only those that
 * late events touched. A line whose amount stays is left out, and its entry in `billed` stays too,
 * so that the units of all lines add up to what the last of them knew.
 */
export function adjustments(
  correction: Rating & { readonly billed: Billed; readonly invoice_number: string | null },
): { fees: FeeDraft[]; billed: Billed } {
  const { metered } = correction;
  const fees: FeeDraft[] = [];
  const billed: Record<string, BilledLine> = { ...correction.billed };
  const dates = billedDates(metered.start, metered.end);
  for (const line of rateAgain(correction)) {
    const { fee } = line;
    const before = correction.billed[line.key] ?? { units: "0", amount_cents: 0 };
    if (fee.amount_cents === before.amount_cents) continue;
    const isMinimum = fee.fee_type === "minimum";
    fees.push({
      ...fee,
      fee_type: "adjustment",
      units: isMinimum ? "1" : formatDecimal(subtract(decimal(fee.units), decimal(before.units))),
      amount_cents: sumCents([fee.amount_cents, -before.amount_cents]),
      properties: {
        ...fee.properties,
        ...dates,
        billed_units: before.units,
        billed_amount_cents: before.amount_cents,
        corrected_units: fee.units,
        corrected_amount_cents: fee.amount_cents,
        invoice_number: correction.invoice_number,
      },
    });
    billed[line.key] = billedLine(line);
  }
  return { fees, billed };
}

/** All lines that late usage can change, in the order of the invoice. */
function rateAgain(correction: Rating & { readonly billed: Billed }): Line[] {
  const { list, billed } = correction;
  const lines = list.charges
    .filter(({ charge_model }) => charge_model !== "flat_fee")
    .flatMap((charge) =>
      chargeLines(
        charge,
        correction,
        () => billed[minimumKey(charge)]?.minimum,
        billedCombinations(charge, billed),
      ),
    );
  const minimum = billed[PLAN_MINIMUM]?.minimum;
  return minimum === undefined ? lines : [...lines, planMinimum(correction, minimum, lines)];
}

/** Combinations that were billed: late usage may take one away, which has a line to correct. */
function billedCombinations(charge: PricedCharge, billed: Billed): string[] {
  if (charge.price?.prices === undefined) return [];
  const prefix = `${charge.id} `;
  return Object.keys(billed).flatMap((key) =>
    key.startsWith(prefix) ? [key.slice(prefix.length)] : [],
  );
}
