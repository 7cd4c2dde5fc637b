// The file of the demo's company: a good example, and everything that its year needs.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { COMPANY_FILE } from "../../../src/cli/demo/company.ts";
import { CUSTOMERS_MAX, customerBodies } from "../../../src/cli/demo/customers.ts";
import { storiesOf } from "../../../src/cli/demo/stories.ts";
import { checkFile } from "../../../src/cli/service-file/checking/file.ts";

const MONTHS = 12;
const SEEDS = 50;

test("it has no fault, and what customers and stories name is declared in it", () => {
  const checked = checkFile(readFileSync(COMPANY_FILE));
  if (Array.isArray(checked)) throw new Error(JSON.stringify(checked));
  const codes = (section: "plans" | "coupons" | "taxes" | "addons") =>
    new Set(checked.wanted[section]?.map(({ code }) => code));
  const [plans, coupons, taxes] = [codes("plans"), codes("coupons"), codes("taxes")];
  const customers = customerBodies(CUSTOMERS_MAX);
  for (const code of customers.flatMap(({ tax_codes }) => tax_codes ?? [])) {
    expect(taxes).toContain(code);
  }
  for (let seed = 1; seed <= SEEDS; seed++) {
    for (const { plan, coupon, changes } of storiesOf(customers, seed, MONTHS)) {
      expect(plans).toContain(plan);
      if (coupon !== undefined) expect(coupons).toContain(coupon);
      for (const change of changes) if (change.act === "plan") expect(plans).toContain(change.plan);
    }
  }
  expect(codes("addons")).toContain("onboarding");
});
