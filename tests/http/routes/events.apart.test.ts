// A batch with events that cannot be kept: those are refused by their index, the others stored.

import { beforeAll, expect, test } from "vitest";
import { type App, sharedApp } from "../../support/app.ts";
import { perUnit, sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

test("another batch under the same Idempotency-Key is refused, also where all of it is", async () => {
  const send = (id: string) =>
    app.server.fastify.inject({
      method: "POST",
      url: "/v1/events/batch",
      headers: {
        authorization: `Bearer ${app.profile.token}`,
        "x-project-id": app.profile.project_id,
        "content-type": "application/json",
        "idempotency-key": "apart",
      },
      payload: `{"events":[{"transaction_id":"${id}","value":"\\u0000"}]}`,
    });
  expect((await send("a")).json()).toMatchObject({ refused: 1 });
  const again = await send("a");
  expect([again.statusCode, again.headers["idempotent-replayed"]]).toEqual([200, "true"]);
  const other = await send("b");
  expect([other.statusCode, other.json().error?.code]).toEqual([409, "idempotency_conflict"]);
});

test("each is answered by its index, and good ones count", async () => {
  const story = await sandbox(app, "2026-01-01");
  const metric = await story.metric();
  const plan = await story.plan({ charges: [perUnit(metric, "1")] });
  const { id } = await story.subscribe({ plan });
  const event = (no: number, extra: string) =>
    `{"transaction_id":"t${no}","subscription_id":"${id}","code":"${metric.code}",
      "properties":{"units":"2",${extra}}}`;
  const events = ['"x":1', '"x":"a\\u0000"', '"x":9007199254740993', '"x":1e400', '"x":"é"'];
  const sent = await app.server.fastify.inject({
    method: "POST",
    url: "/v1/events/batch",
    headers: {
      authorization: `Bearer ${app.profile.token}`,
      "x-project-id": story.project_id,
      "content-type": "application/json",
    },
    payload: `{"events":[${events.map((extra, no) => event(no, extra)).join(",")}]}`,
  });
  expect(sent.statusCode).toBe(200);
  const refused = (index: number, message: RegExp) => ({
    index,
    accepted: false,
    error: { code: "validation_error", message: expect.stringMatching(message), retryable: false },
  });
  expect(sent.json()).toMatchObject({
    accepted: 2,
    duplicates: 0,
    refused: 3,
    results: [
      { index: 0, accepted: true },
      refused(1, /U\+0000/),
      refused(2, /9007199254740993 cannot be kept exactly/),
      refused(3, /1e400/),
      { index: 4, accepted: true },
    ],
  });
  expect(sent.headers["x-ignored-fields"]).toBeUndefined();
  await story.travelTo("2026-02-01");
  expect((await story.invoices())[0].total_cents).toBe(400);
});
