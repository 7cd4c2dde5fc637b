// The company of the demo, which company.yaml beside this file declares: its prices, taxes, coupons
// and rules of billing, put into a project as `dues sync` would.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DEMO_COMPANY } from "../../built.ts";
import type { Dues } from "../../client/dues.ts";
import { send } from "../service-file/apply.ts";
import { checkFile } from "../service-file/checking/file.ts";
import { planSync } from "../service-file/planning/plan.ts";
import { presentState } from "../service-file/present-state.ts";
import { CliError } from "../terminal/io.ts";

export const COMPANY = "Lumen Models";
export const COMPANY_FILE = fileURLToPath(DEMO_COMPANY);

/** The ids of what the year needs, by code. */
export type Company = {
  readonly plans: ReadonlyMap<string, string>;
  readonly coupons: ReadonlyMap<string, string>;
  readonly addons: ReadonlyMap<string, string>;
};

/** The project is given: the file's org, workspace and project are not looked at. */
export async function foundCompany(dues: Dues, project_id: string): Promise<Company> {
  const checked = checkFile(readFileSync(COMPANY_FILE));
  const { steps, faults } = Array.isArray(checked)
    ? { steps: [], faults: checked }
    : planSync(checked.wanted, await presentState(dues, project_id));
  const [fault] = faults;
  if (fault !== undefined) throw new CliError("failed", `${COMPANY_FILE}: ${fault.message}`);
  for (const { request } of steps) {
    if (request !== undefined) await send(dues, request, project_id);
  }
  const { plans, coupons, addons } = await presentState(dues, project_id);
  return { plans: idsOf(plans), coupons: idsOf(coupons), addons: idsOf(addons) };
}

function idsOf(records: readonly { readonly code: string; readonly id: string }[]) {
  return new Map(records.map(({ code, id }) => [code, id]));
}

/** The id of something that a story names. */
export function idIn(ids: ReadonlyMap<string, string>, code: string): string {
  const id = ids.get(code);
  if (id === undefined) throw new CliError("failed", `The demo's company has no ${code}.`);
  return id;
}
