// Generated from the OpenAPI document: what else can be done. Do not edit.

import { type CallOptions, path } from "./call.ts";
import { Changes } from "./changes.ts";
import type { AppliedAddOn, ApplyAddOnBody } from "./types/addons.ts";
import type { AdvanceClockBody, ClockReport, FreezeClockBody } from "./types/clock.ts";
import type {
  SendEventBatchBody,
  SendEventBatchReply,
  SendEventReply,
  UsageEventInput,
} from "./types/events.ts";
import type { InvoicePreview, InvoiceWithFees, PreviewInvoiceBody } from "./types/invoices.ts";
import type { Payment, RecordPaymentBody } from "./types/payments.ts";
import type { PurgeAllPortalCacheReply, PurgePortalCacheReply } from "./types/portal.ts";
import type { Subscription, TerminateSubscriptionBody } from "./types/subscriptions.ts";
import type { ReplayWebhookBody, WebhookEndpoint } from "./types/webhooks.ts";

export abstract class Acts extends Changes {
  /**
   * Apply an add-on to a customer. Makes an immediate invoice. Send an Idempotency-Key:
   * applying twice is two purchases.
   */
  applyAddOn(
    id: string,
    body: ApplyAddOnBody,
    options?: CallOptions,
  ): Promise<{ readonly applied_add_on: AppliedAddOn }> {
    return this.call("POST", path`/v1/addons/${id}/apply`, options, { body });
  }

  /**
   * Terminate a subscription. Bills the open period up to now, at once. Again: nothing
   * happens.
   */
  terminateSubscription(
    id: string,
    body?: TerminateSubscriptionBody,
    options?: CallOptions,
  ): Promise<{ readonly subscription: Subscription }> {
    return this.call("POST", path`/v1/subscriptions/${id}/terminate`, options, { body });
  }

  /**
   * Suspend a subscription. Usage is still billed; whole suspended days are free of the
   * base fee.
   */
  suspendSubscription(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly subscription: Subscription }> {
    return this.call("POST", path`/v1/subscriptions/${id}/suspend`, options);
  }

  /**
   * Send a usage event. Answered after the event is stored for ever. A transaction_id
   * that was seen before is accepted and not counted again.
   */
  sendEvent(body: UsageEventInput, options?: CallOptions): Promise<SendEventReply> {
    return this.call("POST", "/v1/events", options, { body, keyed: false });
  }

  /**
   * Send up to 10,000 usage events. Answers for each event by its index; good ones are
   * stored whatever the others are.
   */
  sendEventBatch(body: SendEventBatchBody, options?: CallOptions): Promise<SendEventBatchReply> {
    return this.call("POST", "/v1/events/batch", options, { body, keyed: false });
  }

  /**
   * What a subscription would be billed. By the same function that closes the period.
   * Nothing is stored.
   */
  previewInvoice(
    body: PreviewInvoiceBody,
    options?: CallOptions,
  ): Promise<{ readonly invoice_preview: InvoicePreview }> {
    return this.call("POST", "/v1/invoices/preview", options, { body, keyed: false });
  }

  /**
   * Void an unpaid invoice. What was paid in part, or by credit, becomes customer
   * credit.
   */
  voidInvoice(id: string, options?: CallOptions): Promise<{ readonly invoice: InvoiceWithFees }> {
    return this.call("POST", path`/v1/invoices/${id}/void`, options);
  }

  /**
   * Record a payment. The same provider and provider_payment_id again, for the same
   * invoice and amount: 200 with the payment that is there.
   */
  recordPayment(
    body: RecordPaymentBody,
    options?: CallOptions,
  ): Promise<{ readonly payment: Payment }> {
    return this.call("POST", "/v1/payments", options, { body });
  }

  /** Give an endpoint a new secret. Both secrets sign for 24 hours. */
  rotateWebhookSecret(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly webhook_endpoint: WebhookEndpoint }> {
    return this.call("POST", path`/v1/webhooks/${id}/rotate-secret`, options);
  }

  /** Send a test message to an endpoint. */
  testWebhook(id: string, options?: CallOptions): Promise<{ readonly queued: number }> {
    return this.call("POST", path`/v1/webhooks/${id}/test`, options);
  }

  /**
   * Send again everything since an instant. Every message that the endpoint is
   * subscribed to, under its old id.
   */
  replayWebhook(
    id: string,
    body: ReplayWebhookBody,
    options?: CallOptions,
  ): Promise<{ readonly queued: number }> {
    return this.call("POST", path`/v1/webhooks/${id}/replay`, options, { body });
  }

  /** Send a message again. */
  redeliverWebhookDelivery(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly queued: number }> {
    return this.call("POST", path`/v1/webhook-deliveries/${id}/redeliver`, options);
  }

  /**
   * Freeze the clock of a sandbox project. At any instant while the project has no
   * subscription, afterwards only forward.
   */
  freezeClock(body: FreezeClockBody, options?: CallOptions): Promise<ClockReport> {
    return this.call("POST", "/v1/clock", options, { body, keyed: false });
  }

  /**
   * Travel forward in time. Everything that falls due up to and including that instant
   * happens, in the order of time; the answer lists it.
   */
  advanceClock(body: AdvanceClockBody, options?: CallOptions): Promise<ClockReport> {
    return this.call("POST", "/v1/clock/advance", options, { body, keyed: false });
  }

  /**
   * Purge a customer's cached view. An unknown customer, or one of somebody else, gives
   * the same answer.
   */
  purgePortalCache(customerId: string, options?: CallOptions): Promise<PurgePortalCacheReply> {
    return this.call("DELETE", path`/v1/portal-cache/${customerId}`, options);
  }

  /**
   * Purge all cached views. Of the project in the header, or without it of every project
   * of the organization.
   */
  purgeAllPortalCache(options?: CallOptions): Promise<PurgeAllPortalCacheReply> {
    return this.call("DELETE", "/v1/portal-cache", options);
  }
}
