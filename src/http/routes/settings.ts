// What a project says about itself on documents, and its rules of billing.

import { changedFields } from "../../domain/changed-fields.ts";
import { checkPaymentUrl } from "../../domain/payment-url.ts";
import { withTaxId } from "../../domain/tax-ids.ts";
import { holding } from "../../operations/catalog/resolve-charges.ts";
import { checkTaxCodes } from "../../operations/catalog/tax-codes.ts";
import { emit, updated } from "../../operations/emit.ts";
import { Wrapped } from "../../schema/common.ts";
import { Settings, SettingsPut } from "../../schema/settings.ts";
import * as settingsStore from "../../store/customers/settings.ts";
import { type Route, read, write } from "../route.ts";

const tag = "Settings";
const One = Wrapped("settings", Settings);

const get = read({
  method: "GET",
  path: "/v1/settings",
  id: "getSettings",
  tag,
  summary: "Get the project's settings",
  description: "With defaults for what was never set.",
  scope: "read",
  project: "required",
  reply: [200, One],
  async handle({ db, project }) {
    return { settings: await settingsStore.get(db, project) };
  },
});

const put = write({
  method: "PUT",
  path: "/v1/settings",
  id: "setSettings",
  tag,
  summary: "Change the project's settings",
  description:
    "A field that is left out keeps its value. Days to pay and late usage count for invoices made from now on.",
  scope: "write",
  project: "required",
  body: SettingsPut,
  reply: [200, One],
  example: {
    name: "Example Ltd",
    address: "1 Sample Street\nSampletown",
    country: "GB",
    tax_id: "GB000000000",
    tax_codes: ["vat"],
    logo_color: "#0b6e4f",
    net_payment_days: 30,
  },
  async handle({ tx, project, gate, by, body, now, afterCommit }) {
    await settingsStore.lock(tx, project);
    await checkTaxCodes(holding(tx, project), [body.tax_codes]);
    checkPaymentUrl(body.payment_url);
    const before = await settingsStore.get(tx, project);
    const settings = await settingsStore.patch(tx, project, withTaxId(body));
    const changed = changedFields(before, settings, Object.keys(SettingsPut.properties));
    await emit(tx, project, updated("settings.updated", project, changed), by, now);
    // Other processes have the old settings cached for less than a second.
    afterCommit(() => gate.forget());
    return { settings };
  },
});

export const settingsRoutes: Route[] = [get, put];
