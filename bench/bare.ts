// What the service is measured against: a Fastify route with the same body, the same schemas and
// the same answer that does nothing at all.

import { fastify } from "fastify";
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
const url = await app.listen({ port: 0, host: "127.0.0.1" });
process.on("SIGTERM", () => process.exit(0));
process.send?.({ url });
