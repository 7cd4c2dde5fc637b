// Plans and the charges on them.

import { notFound } from "../../errors.ts";
import { archivePlan } from "../../operations/catalog/archive-plan.ts";
import { addCharge, createPlan, patchPlan } from "../../operations/catalog/change-plan.ts";
import { CodeQuery, ListOrOne, Wrapped } from "../../schema/common.ts";
import { Charge, ChargeInput, Plan, PlanCreate, PlanPatch } from "../../schema/plans.ts";
import * as plans from "../../store/catalog/plans.ts";
import { Cursors, filtersOf } from "../request/paging.ts";
import { point, type Route, read, write } from "../route.ts";
import { pathId, planView } from "../views.ts";

const tag = "Plans";
const params = { id: "UUID of the plan." };

const create = write({
  method: "POST",
  path: "/v1/plans",
  once_by: "code",
  id: "createPlan",
  errors: ["already_exists", "currency_mismatch"],
  tag,
  summary: "Create a plan",
  description: "With its charges, in one call. Interval and currency never change.",
  scope: "write",
  project: "required",
  body: PlanCreate,
  reply: [201, Wrapped("plan", Plan)],
  example: {
    code: "pro",
    name: "Pro",
    interval: "monthly",
    amount_cents: 2900,
    amount_currency: "USD",
    trial_days: 14,
    charges: [
      {
        charge_model: "graduated",
        billable_metric_code: "api_calls",
        name: "API calls",
        properties: {
          tiers: [
            { up_to: "100", amount: "0.10", flat_amount: "5" },
            { up_to: null, amount: "0.05" },
          ],
        },
      },
    ],
  },
  async handle({ tx, project, by, body, now }) {
    const { plan, charges } = await createPlan(tx, project, body, by, now);
    return { plan: planView(plan, charges) };
  },
});

const list = read({
  method: "GET",
  path: "/v1/plans",
  id: "listPlans",
  tag,
  summary: "List plans, or find one by code",
  description:
    "Newest first, the live ones, with their charges. With code the answer is that plan.",
  scope: "read",
  project: "required",
  query: CodeQuery("plan", "Answers {plan}: the live one, else the newest archived one."),
  reply: [200, ListOrOne("plans", { key: "code", one: "plan" }, Plan)],
  async handle({ context, db, project, query }) {
    if (query.code !== undefined) {
      const plan = await plans.getByCode(db, project, query.code);
      if (plan === undefined) throw notFound("plan", { by: "code" });
      return { plan: planView(plan, await plans.listCharges(db, project, [plan.id])) };
    }
    const cursors = new Cursors(context.secret_key, project, "plans", filtersOf(query));
    const request = cursors.whole(query);
    const found = await plans.list(db, project, query.archived === "1", request);
    const ids = found.rows.map((plan) => plan.id);
    const charges = await plans.listCharges(db, project, ids);
    return { plans: found.rows.map((plan) => planView(plan, charges)), ...cursors.foot(found) };
  },
});

const get = point({
  method: "GET",
  path: "/v1/plans/:id",
  id: "getPlan",
  tag,
  summary: "Get a plan with its charges",
  description: "Archived ones too.",
  scope: "read",
  project: "required",
  params,
  reply: [200, Wrapped("plan", Plan)],
  async handle({ db, project, params }) {
    const plan = await plans.get(db, project, pathId(params.id));
    if (plan === undefined) throw notFound("plan");
    return { plan: planView(plan, await plans.listCharges(db, project, [plan.id])) };
  },
});

const createCharge = write({
  method: "POST",
  path: "/v1/plans/:id/charges",
  id: "createPlanCharge",
  errors: ["currency_mismatch", "plan_archived"],
  tag,
  summary: "Add a charge to a plan",
  example: {
    charge_model: "package",
    billable_metric_code: "mails",
    properties: { amount: "5", package_size: "100", free_units: "1000" },
  },
  description: "Counts from periods that start later.",
  scope: "write",
  project: "required",
  params,
  body: ChargeInput,
  reply: [201, Wrapped("charge", Charge)],
  async handle({ tx, project, by, params, body, now }) {
    const charge = await addCharge(tx, project, pathId(params.id), body, by, now);
    return { charge };
  },
});

const patch = write({
  method: "PATCH",
  path: "/v1/plans/:id",
  id: "updatePlan",
  errors: ["currency_mismatch", "plan_archived"],
  tag,
  summary: "Change a plan",
  description:
    "`charges` is the whole wanted set; unchanged ones keep their id. A new price counts from periods that start later.",
  scope: "write",
  project: "required",
  params,
  body: PlanPatch,
  reply: [200, Wrapped("plan", Plan)],
  async handle({ tx, project, by, params, body, now }) {
    const id = pathId(params.id);
    const { plan, charges } = await patchPlan(tx, project, id, body, by, now);
    return { plan: planView(plan, charges) };
  },
});

const archive = write({
  method: "DELETE",
  path: "/v1/plans/:id",
  id: "archivePlan",
  errors: ["has_active_subscriptions"],
  tag,
  summary: "Archive a plan",
  description: "422 has_active_subscriptions while it has active subscriptions.",
  scope: "write",
  project: "required",
  params,
  reply: [204, null],
  async handle({ tx, project, by, params, now }) {
    await archivePlan(tx, project, pathId(params.id), by, now);
  },
});

export const planRoutes: Route[] = [create, list, get, createCharge, patch, archive];
