// What the portal says of wallets, credit notes, taxes, discounts and links to pay, what drops such
// a view, and what a customer without any of it costs and sees.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProjectId } from "../../src/ids.ts";
import { readPortal } from "../../src/operations/portal/read.ts";
import type { Queryable } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../support/given.ts";
import {
  applyCoupon,
  coupon,
  discount,
  grant,
  note,
  oneOff,
  paid,
  refund,
  settings,
  tax,
  topUp,
  vat,
  voidInvoice,
  watch,
} from "../support/money.ts";
import { closeSound } from "../support/pricing.ts";

let app: App;
let story: Sandbox;
beforeAll(async () => {
  app = await startApp({ env: { PORTAL_AUTO_INVALIDATE: "1" } });
  story = await sandbox(app, "2026-01-10T09:00");
});
afterAll(() => closeSound(app));

const STRANGER = { authorization: undefined, "x-project-id": undefined };

async function dataOf({ id }: Json): Promise<Json> {
  return (await app.call("GET", `/v1/portal/${id}`, undefined, STRANGER)).body;
}

async function pageOf({ id }: Json): Promise<string> {
  return (await app.call("GET", `/portal/${id}`, undefined, STRANGER)).body;
}

function textOf(page: string): string {
  return page
    .replace(/<style>[\s\S]*?<\/style>/, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ");
}

describe("what it shows", () => {
  test("wallets are those of the API, and what is due counts what notes have taken", async () => {
    const metric = await story.metric("sum");
    const plan = await story.plan({ charges: [perUnit(metric, "0.01")] });
    const customer = await story.customer();
    const subscription = await story.subscribe({ plan, customer });
    await grant(story, customer, 5_000);
    await story.use(subscription, metric, "1200");
    await watch(story, customer, { low_balance_cents: 100, top_up_cents: null });
    const invoice = await oneOff(story, customer, "7000");
    await note(story, invoice, { 0: 500 });
    const shown = await dataOf(customer);
    const { wallets } = await story.get(`/v1/customers/${customer.id}/wallets`);
    expect(shown.wallets).toEqual(wallets);
    expect(wallets).toMatchObject([{ balance_cents: 0, running_cents: 1_200 }]);
    expect(shown.totals.outstanding_cents).toBe(1_500);
    expect(shown.invoices).toMatchObject([
      { credit_applied_cents: 5_000, offset_cents: 500, amount_due_cents: 1_500 },
    ]);
    expect(textOf(await pageOf(customer))).toContain(
      "Amount due $15.00 Your credit $0.00 $12.00 not yet invoiced: $12.00 more than you have",
    );
  });

  test("only the newest fifty credit notes, without what was noted beside them", async () => {
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "1000");
    for (let i = 0; i < 51; i++) await note(story, invoice, { 0: 1 }, { memo: "said in private" });
    const { credit_notes } = await dataOf(customer);
    const all = (await story.get(`/v1/credit-notes?all=1&customer_id=${customer.id}`)).credit_notes;
    expect(credit_notes.map(({ id }: Json) => id)).toEqual(
      all.slice(0, 50).map(({ id }: Json) => id),
    );
    expect(JSON.stringify(credit_notes)).not.toContain("private");
  });

  test("the page has tax, discount, the button to pay, and where each note went", async () => {
    const own = await sandbox(app, "2026-01-10");
    await vat(own, "20");
    await settings(own, { payment_url: "https://pay.test/?n={number}&c={external_id}" });
    const customer = await own.customer({ external_id: "a&b" });
    await discount(own, customer, { percent: "10" });
    const first = await oneOff(own, customer, "1000");
    const payment = await paid(own, first, 1_080);
    const made = await note(own, first, { 0: 500 }, { refund_cents: 400 });
    await refund(own, payment, 150, { credit_note_id: made.id });
    const open = await oneOff(own, customer, "5000");
    const { invoice: top } = await topUp(own, customer, 700);
    const page = await pageOf(customer);
    const text = textOf(page);
    expect(page).toContain(
      `href="https://pay.test/?n=${open.number}&amp;c=a%26b" rel="noreferrer"`,
    );
    // Where it says what is due, and in the list.
    expect(page.match(/class="button pay"/g)).toHaveLength(2 * 2);
    expect(text).toContain("incl. $1.80 tax , $1.00 discount");
    expect(text).toContain("$1.50 refunded, $2.50 to be refunded, $2.00 to your credit $6.00");
    expect(text).toContain("$10.80 $1.50 refunded");
    expect(text).toContain(`${top.number} Top-up`);
    expect(page).toContain(`href="/portal/${customer.id}/credit-notes/${made.number}"`);
    await own.post(`/v1/invoices/${open.id}/write-off`);
    const after = await pageOf(customer);
    expect(textOf(after)).toContain("Written off");
    expect(after.match(/class="button pay"/g)).toHaveLength(2);
  });

  test("a signed link is carried on to credit notes", async () => {
    const customer = await story.customer();
    const made = await note(story, await oneOff(story, customer, "100"));
    const { url } = await story.post(`/v1/customers/${customer.id}/portal-links`, {});
    const { pathname, search } = new URL(url);
    const { body } = await app.call("GET", `${pathname}${search}`, undefined, STRANGER);
    expect(body).toContain(`/credit-notes/${made.number}${search}"`);
  });
});

describe("without any of it", () => {
  /** Counts the statements of a view. */
  async function costOf(customer: Json): Promise<number> {
    let count = 0;
    await app.context.db.snapshot((tx) => {
      const counted = <T>(statement: () => Promise<T>) => {
        count += 1;
        return statement();
      };
      const counting: Queryable = {
        many: (query) => counted(() => tx.many(query)),
        maybeOne: (query) => counted(() => tx.maybeOne(query)),
        one: (query) => counted(() => tx.one(query)),
        run: (query) => counted(() => tx.run(query)),
      };
      const now = new Date("2026-01-10T09:00:00Z");
      return readPortal(counting, story.project_id as ProjectId, customer.id, now);
    });
    return count;
  }

  // Twelve before credit notes were shown.
  test("a view takes one statement for credit notes, and none for wallets", async () => {
    const metric = await story.metric("sum");
    const plan = await story.plan({ amount_cents: 100, charges: [perUnit(metric, "1")] });
    const customer = await story.customer();
    const subscription = await story.subscribe({ plan, customer });
    await story.use(subscription, metric, "3");
    expect(await costOf(customer)).toBe(13);
    await oneOff(story, customer, "100");
    expect(await costOf(customer)).toBe(13);
  });

  test("the page has no word, column or style of it; credit that was overpaid is as it was", async () => {
    const own = await sandbox(app, "2026-01-10");
    const plan = await own.plan({ amount_cents: 900 });
    const customer = await own.customer();
    await own.subscribe({ plan, customer });
    await own.travelTo("2026-02-01");
    const [invoice] = await own.invoices();
    await own.pay(invoice, invoice.total_cents + 300, { allow_overpayment: true });
    await own.travelTo("2026-02-20");
    const page = await pageOf(customer);
    expect(textOf(page)).toContain("Your credit $3.00 As of");
    for (const part of ["Credit notes", "Pay<", "tax,", "discount", "td.pay", "not yet invoiced"]) {
      expect(page).not.toContain(part);
    }
  });

  test("a view of another version is computed anew", async () => {
    const customer = await story.customer();
    const cacheOf = async () =>
      (await app.call("GET", `/v1/portal/${customer.id}`)).headers["x-portal-cache"];
    await cacheOf();
    expect(await cacheOf()).toBe("hit");
    await app.context.db.run(sql`
      update portal_views
         set body = '{}', page = page - 'shape'
       where project_id = ${story.project_id} and customer_id = ${customer.id}`);
    expect(await cacheOf()).toBe("miss");
    expect((await dataOf(customer)).wallets).toEqual([]);
  });
});

describe("what drops a view", () => {
  async function cacheOf({ id }: Json): Promise<unknown> {
    return (await app.call("GET", `/v1/portal/${id}`)).headers["x-portal-cache"];
  }

  test("whatever changes a figure of it, and of nobody else", async () => {
    const own = await sandbox(app, "2026-01-10");
    const made = await tax(own, "vat", "20");
    const [customer, bystander] = [await own.customer(), await own.customer()];
    await own.subscribe({ plan: await own.plan({ amount_cents: 100 }), customer });
    const drops = async (what: string, change: () => Promise<Json | undefined>) => {
      await cacheOf(customer);
      await cacheOf(bystander);
      expect([what, await cacheOf(customer)]).toEqual([what, "hit"]);
      const changed = await change();
      expect([what, await cacheOf(customer)]).toEqual([what, "miss"]);
      return changed as Json;
    };
    const free = await drops("a grant", () => grant(own, customer, 100));
    await drops("its end", () => own.post(`/v1/grants/${free.id}/revoke`));
    await drops("a short one", () => grant(own, customer, 9, { expires_at: "2026-01-12" }));
    await drops("its expiry", () => own.travelTo("2026-01-12"));
    const top = await drops("a top-up", () => topUp(own, customer, 500));
    await drops("its payment", () => paid(own, top.invoice, 500));
    await drops("a threshold", () => watch(own, customer, { low_balance_cents: 5 }));
    const terms = await coupon(own, { percent: "10" });
    const applied = await drops("a coupon", () => applyCoupon(own, terms, customer));
    const used = `/v1/applied-coupons/${applied.body.applied_coupon.id}`;
    await drops("its end", () => own.call("DELETE", used));
    const invoice = await drops("an invoice", () => oneOff(own, customer, "2000"));
    await drops("words of it", () => own.patch(`/v1/invoices/${invoice.id}`, { memo: "M" }));
    const money = await drops("a payment", () => paid(own, invoice, 1_000));
    const credited = await drops("a note", () =>
      note(own, invoice, { 0: 700 }, { refund_cents: 100 }),
    );
    expect(credited.refund_cents).toBe(100);
    await drops("a refund", () => refund(own, money, 60, { credit_note_id: credited.id }));
    const second = await oneOff(own, customer, "300");
    await drops("a write-off", () => own.post(`/v1/invoices/${second.id}/write-off`));
    await drops("a void", () => voidInvoice(own, second));
    expect(await cacheOf(bystander)).toBe("hit");
    await drops("the percent", () => tax(own, "vat", "19", { name: made.name }));
    await drops("the taxes of all", () => settings(own, { tax_codes: ["vat"] }));
    await drops("where to pay", () => settings(own, { payment_url: "https://pay.test/" }));
  });
});
