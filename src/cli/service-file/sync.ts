// `dues sync` and `dues diff`: compares a project with what its file declares, asks before prices
// of plans in use change, and applies the steps.

import type { Dues } from "../../client/dues.ts";
import { fieldName } from "../../schema/fault-messages.ts";
import { CliError, EXIT, type Io, printJson } from "../terminal/io.ts";
import { plural } from "../terminal/output.ts";
import { visible } from "../terminal/visible.ts";
import { type ApplyFlags, apply, type Doing, openRun, type SyncRun } from "./apply.ts";
import type { CheckedFile } from "./checking/file.ts";
import { tellFaults } from "./load.ts";
import { missingProperties, missingText } from "./missing-properties.ts";
import { currencyFaults, type PaidPrice, type PaidPrices, paidPrices } from "./paid-prices.ts";
import { planSync } from "./planning/plan.ts";
import type { Step } from "./planning/steps.ts";
import { needWrite, presentState, targetOf } from "./present-state.ts";
import { renderPlan, stepJson, summary } from "./render.ts";

export type SyncFlags = ApplyFlags & {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  /** The id of the project that --project names. */
  readonly only?: string | undefined;
};

/** `checked` is what stands in the file at `path`. */
export async function sync(
  io: Io,
  dues: Dues,
  path: string,
  { wanted, source }: CheckedFile,
  flags: SyncFlags,
): Promise<number> {
  const json = flags.json === true;
  const target = await targetOf(dues, wanted, flags.only);
  const project_id = target.id;
  const present = await presentState(dues, project_id);
  const { steps, ...planned } = planSync(wanted, present);
  const faults =
    planned.faults.length > 0
      ? planned.faults
      : await currencyFaults(dues, project_id, present, wanted.catalog ?? []);
  if (faults.length > 0) {
    const placed = faults.map(({ path, message, hint }) => {
      return { ...source.at(path), field: fieldName(path), message, hint };
    });
    tellFaults(io, path, placed, json);
    return EXIT.bad_file;
  }
  const todo = steps.filter((step): step is Doing => step.request !== undefined);
  const paid = await paidPrices(dues, project_id, present, todo);
  if (!json) io.out(`${renderPlan(io, steps)}${steps.length > 0 ? "\n" : ""}${summary(steps)}\n`);
  if (!json) io.out(paidText(paid));
  const unbillable = await missingProperties(dues, project_id, wanted, present);
  // Beside JSON it must be seen too: nothing is billed of them from then on.
  io.err(missingText(unbillable));
  if (flags.dryRun || todo.length === 0) {
    const told = { live_plans: paid.plans, live_items: paid.items, unbillable };
    if (json) printJson(io, { steps: steps.map(stepJson), applied: 0, ...told });
    else if (todo.length === 0) io.out("Nothing to do.\n");
    return flags.dryRun && todo.length > 0 ? EXIT.drift : EXIT.done;
  }
  needWrite(target);
  await confirm(io, paid, flags.yes === true);
  const run = await openRun(todo, flags);
  try {
    await apply(io, dues, project_id, todo, flags, run);
  } catch (error) {
    // A secret is not shown again, so what there is so far is printed before the failure.
    if (json) printJson(io, outcome(steps, run, error));
    throw error;
  } finally {
    await run.journal?.close();
  }
  if (json) printJson(io, outcome(steps, run));
  else io.out(`Done: ${plural(todo.length, "change")} applied.\n`);
  return EXIT.done;
}

function outcome(steps: readonly Step[], { applied, secrets }: SyncRun, error?: unknown) {
  const failed = error instanceof Error ? error.message : undefined;
  return { steps: steps.map(stepJson), applied, secrets, failed };
}

function paidText({ plans, items }: PaidPrices): string {
  const line = ({ code, subscriptions, more, from, together }: PaidPrice, whose: string) => {
    const count = `${more ? "more than " : ""}${plural(subscriptions, "live subscription")}`;
    const when = together
      ? `from the period that starts ${from}`
      : `for each from its next period on, the first seen starts ${from}`;
    return `The new price of ${visible(code)} (${count}${whose}) counts ${when}.\n`;
  };
  const own = " with charges of its own";
  return [
    ...plans.map((each) => line(each, "")),
    ...items.map((each) =>
      line(each, each.subscriptions === 1 ? own : own.replace("its", "their")),
    ),
  ].join("");
}

/** Asks before prices that live subscriptions pay change. */
async function confirm(io: Io, { plans, items }: PaidPrices, yes: boolean): Promise<void> {
  if (yes || plans.length + items.length === 0) return;
  if (!io.interactive) {
    const codes = [...plans, ...items].map(({ code }) => visible(code)).join(", ");
    throw new CliError(
      "failed",
      `This changes prices that live subscriptions pay: ${codes}. Nothing was changed.`,
      "Look at them with --dry-run, then run again with --yes.",
    );
  }
  const answer = await io.ask("Change these prices? [y/N] ");
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError("failed", "Nothing was changed.");
}
