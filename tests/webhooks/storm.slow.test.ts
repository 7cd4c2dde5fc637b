// Workers as real processes: stopped and woken too late, and a service that dies between a commit
// and its webhook. Those that are killed again and again: storm.deep.ts.

import { expect, test } from "vitest";
import { sql } from "../../src/store/db/sql.ts";
import { emitPayments } from "../support/courier.ts";
import { Sandbox } from "../support/given.ts";
import { startService, until } from "../support/processes.ts";
import { duplicatesIn, Storm } from "./storm.ts";

test("a worker that slept past its claim records nothing", async () => {
  const storm = await Storm.start(1);
  const [receiver] = storm.receivers;
  if (receiver === undefined) throw new Error("There is no receiver.");
  try {
    const zombie = await storm.worker();
    // Once it has answered, it is sent several at a time.
    await emitPayments(storm.app, 9, 1);
    await until(async () => (await storm.rows(sql`select 1 from webhook_attempts`)).length === 1);
    receiver.holding = true;
    await emitPayments(storm.app, 0, 3);
    await receiver.until(4);
    process.kill(zombie.pid, "SIGSTOP");
    expect(await storm.expireClaims()).toBe(3);
    const heir = await storm.worker();
    await receiver.until(7);
    process.kill(heir.pid, "SIGSTOP");

    // The heir's attempts are under way. The zombie hears that its own have failed, and then sends
    // another message, whose result it writes after theirs.
    receiver.answer = { status: 500 };
    receiver.release(3);
    receiver.answer = { status: 200 };
    process.kill(zombie.pid, "SIGCONT");
    await emitPayments(storm.app, 3, 1);
    const attempts = () =>
      storm.rows(sql`
        select a.attempt, a.status, m.body::json #>> '{data,no}' as no
          from webhook_attempts a
          left join webhook_messages m on m.project_id = a.project_id and m.id = a.message_id
         order by no`);
    await until(async () => (await attempts()).some(({ no }) => no === "3"));
    expect(await attempts()).toEqual(
      ["3", "9"].map((no) => ({ attempt: 1, status: "delivered", no })),
    );
    const taken = await storm.rows(sql`select attempt, claim from webhook_queue`);
    expect(taken.map(({ attempt, claim }) => [attempt, claim !== null])).toEqual(
      Array.from({ length: 3 }, () => [0, true]),
    );
    process.kill(heir.pid, "SIGCONT");
    receiver.release();
    await storm.emptied();
    expect(await attempts()).toEqual(
      ["0", "1", "2", "3", "9"].map((no) => ({ attempt: 1, status: "delivered", no })),
    );
    expect(duplicatesIn(storm, 5)).toBe(3);
    expect([...zombie.errors, ...heir.errors]).toEqual([]);
    for (const worker of [zombie, heir]) await storm.end(worker, "SIGTERM");
  } finally {
    await storm.close();
  }
});

test("a service that dies between an invoice and its webhook sends it after the restart (S20)", async () => {
  const storm = await Storm.start(1);
  const [receiver] = storm.receivers;
  try {
    const { app } = storm;
    const { webhook_endpoints } = await app.get("/v1/webhooks");
    await app.patch(`/v1/webhooks/${webhook_endpoints[0].id}`, { events: ["invoice.created"] });
    const story = new Sandbox(app, app.profile.project_id);
    const addOn = await story.addOn({ amount_cents: 2500, currency: "USD" });
    const customer = await story.customer();
    const env = {
      SECRET_KEY: app.context.config.secret_key ?? "",
      WEBHOOK_ALLOW_PRIVATE: "1",
    };
    const api = await startService({ connection: app.connection, role: "api", env });
    const answer = await fetch(`${api.base_url}/v1/addons/${addOn.id}/apply`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${app.profile.token}`,
        "x-project-id": app.profile.project_id,
        "content-type": "application/json",
      },
      body: JSON.stringify({ customer_id: customer.id }),
    });
    expect(answer.status).toBe(201);
    await api.signal("SIGKILL");
    expect(receiver?.received).toEqual([]);

    const again = await startService({ connection: app.connection, role: "all", env });
    await receiver?.until(1);
    await until(
      async () => (await app.get("/v1/webhook-deliveries")).webhook_deliveries.length > 0,
    );
    await again.signal("SIGTERM");
    const invoices = await story.invoices();
    expect(invoices).toHaveLength(1);
    expect(receiver?.received.map(({ body }) => body.data.invoice.id)).toEqual([invoices[0].id]);
  } finally {
    await storm.close();
  }
});
