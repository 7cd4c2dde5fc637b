// The webhook events of the reference: what each tells, and what its data holds.

import type { WebhookEvent } from "../../schema/webhooks.ts";
import { type Html, html, prose } from "../html.ts";
import { highlighted } from "./samples.ts";

const OF_SUBSCRIPTION = "`subscription`, `customer`";

type Told = { readonly when: string; readonly data: string };

/** All of them, in the order of the catalogue. */
export const EVENT_WORDS: Readonly<Record<WebhookEvent, Told>> = {
  "invoice.created": {
    when: "An invoice was issued, with all its fees.",
    data: "`invoice`, `customer`, `subscription` (null for an add-on)",
  },
  "invoice.payment_overdue_reminder_1": {
    when: "A step of dunning: the invoice is overdue.",
    data: "`invoice`, `customer`, `days_overdue`",
  },
  "invoice.payment_overdue_reminder_2": {
    when: "A later step of dunning.",
    data: "`invoice`, `customer`, `days_overdue`",
  },
  "subscription.started": {
    when: "A subscription that was `pending` began. One that starts at once sends none.",
    data: OF_SUBSCRIPTION,
  },
  "subscription.trial_ended": {
    when: "Its trial is over, and its first paid period began.",
    data: OF_SUBSCRIPTION,
  },
  "subscription.plan_changed": {
    when: "It is on another plan from now on.",
    data: "`subscription`, `customer`, `previous_plan_code`",
  },
  "subscription.period_renewed": {
    when: "A period closed and another began, also after a trial or a change of plan; not while suspended.",
    data: "`subscription`, `customer`, `previous_period`",
  },
  "subscription.terminated": {
    when: "It ended: by a call, at `ends_at` or canceled; `subscription.status` tells.",
    data: OF_SUBSCRIPTION,
  },
  "subscription.suspend_requested": {
    when: "A step of dunning asks you to suspend it. Nothing is changed.",
    data: "`subscription`, `customer`, `overdue_invoice`",
  },
  "subscription.terminate_requested": {
    when: "A step of dunning asks you to end it. Nothing is changed.",
    data: "`subscription`, `customer`, `overdue_invoice`",
  },
  "addon.applied": {
    when: "An add-on was billed to a customer.",
    data: "`applied_add_on`, `invoice`, `customer`",
  },
  "payment.succeeded": {
    when: "A payment was recorded.",
    data: "`payment`, `invoice`, `customer`",
  },
  "invoice.payment_due": {
    when: "There is something to collect: at issue, and when a refund reopens an invoice.",
    data: "`invoice`, `customer`",
  },
  "credit_note.created": {
    when: "A credit note was issued.",
    data: "`credit_note`, `invoice`, `customer`",
  },
  "payment.refunded": {
    when: "A refund was recorded.",
    data: "`refund`, `payment`, `invoice`, `customer`",
  },
  "wallet.balance_low": {
    when: "What is available has fallen below the wallet's threshold. Again only after it was not.",
    data: "`wallet`, `customer`",
  },
  "subscription.billing_failed": {
    when: "Its period is over and cannot be billed, for `reason`; it is tried again until it can be. Once for each time that it begins.",
    data: "`subscription`, `customer`, `reason`",
  },
};

/** The body of a change of plan, field by field as it is sent. */
export const PLAN_CHANGED = {
  event: "subscription.plan_changed",
  created_at: "2026-01-15T10:30:00.000Z",
  data: {
    subscription: {
      id: "0197a2b4-7c1e-7d3a-9f52-3b8e6a1c4d70",
      external_id: "acme",
      plan_code: "scale",
      status: "active",
      current_period_start: "2026-01-15T10:30:00.000Z",
      current_period_end: "2026-01-31T23:59:59.999Z",
    },
    customer: { id: "0197a2b4-7c1e-7d3a-9f52-3b8e6a1c4d71", external_id: "acme" },
    previous_plan_code: "pro",
  },
};

export function webhookEvents(): Html {
  const rows = Object.entries(EVENT_WORDS).map(
    ([event, { when, data }]) =>
      html`<tr><td><code>${event}</code></td><td>${prose(when)}<br><small>${prose(data)}</small></td></tr>`,
  );
  return html`<p>Each is a POST of such a body to the <a href="#createWebhook">endpoints</a> that subscribed to it. <code>X-Service-Signature</code> is the HMAC-SHA256 of the body in hex, keyed with the endpoint's secret as it is shown; <code>webhook-id</code>, <code>webhook-timestamp</code> and <code>webhook-signature</code> are those of Standard Webhooks. A message can come twice, with the same <code>webhook-id</code>, and after later ones.</p>
<figure><figcaption>A change of plan</figcaption><pre tabindex="0"><code>${highlighted(PLAN_CHANGED)}</code></pre></figure>
<table class="w"><thead><tr><th scope="col">Event</th><th scope="col">Says, and what is in <code>data</code></th></tr></thead><tbody>${rows}</tbody></table>`;
}
