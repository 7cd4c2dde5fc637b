// What the service is measured against: Fastify routes with the same bodies, the same schemas and
// the same answers that do nothing at all.

import { fastify } from "fastify";
import { Wrapped } from "../src/schema/common.ts";
import { Customer } from "../src/schema/customers.ts";
import { EventAccepted, UsageEventInput } from "../src/schema/events.ts";

const app = fastify({
  ajv: {
    customOptions: {
      strict: false,
      formats: { timestamp: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/ },
    },
  },
});
app.post(
  "/v1/events",
  { schema: { body: UsageEventInput, response: { 200: EventAccepted } } },
  async () => ({ accepted: true, duplicate: false }),
);
const created_at = new Date("2026-01-01T00:00:00.000Z");
// Typed, so that the compiler tells of a field that this one lacks: Fastify would answer 500.
const customer: Customer = {
  id: "0f8fad5b-d9cb-469f-a165-70867728950e",
  short_id: "cust_0001",
  external_id: "c1",
  name: "Customer 1",
  email: "c1@example.com",
  currency: "USD",
  address: "",
  city: "",
  postal_code: "",
  region: "",
  country: "",
  tax_id: "",
  tax_exemption: null,
  tax_note: "",
  tax_codes: [],
  net_payment_days: null,
  invoice_grouping: null,
  metadata: {},
  created_at,
  updated_at: created_at,
};
app.get(
  "/v1/customers/:id",
  { schema: { response: { 200: Wrapped("customer", Customer) } } },
  async () => ({ customer }),
);
const url = await app.listen({ port: 0, host: "127.0.0.1" });
process.on("SIGTERM", () => process.exit(0));
process.on("disconnect", () => process.exit(1));
process.send?.({ url });
