// Facts of the tests' own: what they tell is not what the service tells of such an event.

import type { Fact } from "../../src/operations/emit.ts";
import type { EventType } from "../../src/schema/billing-events.ts";
import type { Webhook } from "../../src/schema/webhook-payloads.ts";
import type { WebhookEvent } from "../../src/schema/webhooks.ts";

/** Told with any data, so that a test can recognize its messages. */
export function factOf(
  type: EventType,
  resource_id: string,
  { event, data }: { readonly event: WebhookEvent; readonly data: object },
): Fact {
  return { type, resource_id, payload: {}, webhook: { event, data } as unknown as Webhook };
}
