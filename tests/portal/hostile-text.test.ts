// Whatever a seller or a customer is called, on the pages of the portal and on documents it is
// text: it opens no tag, leaves no attribute and becomes no address.

import { beforeAll, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../support/given.ts";
import { discount, note, refund, settings, vat } from "../support/money.ts";

const HOSTILE = [
  `<script>alert(1)</script>`,
  `"><img src=x onerror=alert(1)>`,
  `' onmouseover='alert(1)' x='`,
  `javascript:alert(1)//`,
  `</title></style><svg/onload=alert(1)><!--`,
  `&lt;b&gt;&#60;i&#62;`,
];
const ESCAPED: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const STRANGER = { authorization: undefined, "x-project-id": undefined };

let app: App;
let plain: Map<string, string>;
beforeAll(async () => {
  app = await sharedApp();
  plain = await pagesOf("Plain");
});

type Tag = { readonly name: string; readonly attributes: ReadonlyMap<string, string> };

/** Tags as a browser finds them: a quoted value may hold anything but its own quote. */
function tagsIn(page: string): Tag[] {
  const tags = page.matchAll(/<([!/]?[a-zA-Z-][^\s/>]*)((?:"[^"]*"|'[^']*'|[^"'>])*)>/g);
  return [...tags].map(([, name = "", rest = ""]) => {
    const found = rest.matchAll(/([^\s"'=/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"']+))?/g);
    return { name: name.toLowerCase(), attributes: new Map([...found].map(attribute)) };
  });
}

function attribute([, name = "", value = ""]: RegExpMatchArray): [string, string] {
  return [name.toLowerCase(), value.replace(/^(["'])(.*)\1$/s, "$2")];
}

/** A seller and a customer with this text in every field that takes it, and all pages of theirs. */
async function pagesOf(text: string): Promise<Map<string, string>> {
  const project = await sandbox(app, "2025-01-10");
  await settings(project, {
    name: text,
    address: `${text}\n${text}`,
    city: text,
    tax_id: text,
    footer: text,
    payment_instructions: text,
    payment_url: "https://pay.test/{number}",
  });
  await vat(project, "20");
  await project.post("/v1/taxes", { code: "vat", name: text, percent: "20" });
  const metric = await project.metric("sum", { code: `m ${text}`, name: text });
  const terms = { code: `p ${text}`, name: text, interval: "monthly", amount_currency: "USD" };
  const charges = [perUnit(metric, "1")];
  const { plan } = await project.post("/v1/plans", { ...terms, amount_cents: 900, charges });
  const customer = await project.customer({ name: text, external_id: text, city: text });
  const subscription = await project.subscribe({ plan, customer, external_id: `s ${text}` });
  await discount(project, customer, { percent: "10", name: text });
  await project.use(subscription, metric, "7");
  await project.travelTo("2025-02-01");
  await project.use(subscription, metric, "7");
  const lines = [{ name: text, unit_amount_cents: 1_000 }];
  const words = { memo: text, po_number: text };
  await project.post("/v1/invoices", { customer_id: customer.id, lines, ...words });
  const invoice = (await project.invoices())[0];
  const payment = await project.pay(invoice, invoice.amount_due_cents, { provider: text });
  const sent = { reason: text, memo: text, refund_cents: 100 };
  const made = await note(project, invoice, { 0: 100 }, sent);
  await refund(project, payment, 50, { credit_note_id: made.id });
  return read(project, customer, made);
}

async function read(project: Sandbox, customer: Json, made: Json): Promise<Map<string, string>> {
  const base = `/portal/${customer.id}`;
  const paths = [
    base,
    ...["invoices", "payments", "credit-notes"].map((list) => `${base}/${list}`),
  ];
  paths.push(`${base}/credit-notes/${made.number}`, `/v1/credit-notes/${made.id}/document`);
  for (const { id, number } of await project.invoices()) {
    paths.push(`${base}/invoices/${number}`, `/v1/invoices/${id}/document`);
  }
  const pages = new Map<string, string>();
  for (const [i, path] of paths.entries()) {
    const { status, body } = await project.call(
      "GET",
      path,
      undefined,
      path.startsWith("/v1/") ? {} : STRANGER,
    );
    expect([path, status]).toEqual([path, 200]);
    pages.set(`page ${i}`, body);
  }
  return pages;
}

test.each(HOSTILE)("%s is text on every page", async (text) => {
  const pages = await pagesOf(text);
  expect(pages.size).toBe(plain.size);
  const escaped = text.replace(/[&<>"']/g, (char) => ESCAPED[char] ?? char);
  for (const [name, page] of pages) {
    expect(page).toContain(escaped);
    if (escaped !== text) expect(page).not.toContain(text);
    const tags = tagsIn(page);
    expect(tags.map((tag) => tag.name)).toEqual(
      tagsIn(plain.get(name) ?? "").map((tag) => tag.name),
    );
    for (const { attributes } of tags) {
      expect([...attributes.keys()].filter((key) => key.startsWith("on"))).toEqual([]);
      for (const key of ["href", "src", "action", "formaction", "xlink:href"]) {
        const address = attributes.get(key) ?? "/";
        expect(address).toMatch(/^(\/(?!\/)|\?|#|https:\/\/pay\.test\/|data:image\/)/);
      }
    }
  }
});
