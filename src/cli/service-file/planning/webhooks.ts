// The steps for webhook endpoints, and for dunning, which tells them about unpaid invoices.

import type { FileDunning, FileWebhook } from "../../../schema/service-file.ts";
import { parsedUrl } from "../../../schema/urls.ts";
import { ENDPOINTS_MAX } from "../../../schema/webhooks.ts";
import { refusedUrl } from "../checking/webhook-url.ts";
import { changesBetween, changesOfNew, isSame } from "../comparing.ts";
import type { Present, PresentDunning, PresentEndpoint } from "../present-state.ts";
import { putStep, type Step, type TellFault } from "./steps.ts";

const NO_DUNNING: PresentDunning = { enabled: false, steps: [] };

export function dunningSteps(wanted: FileDunning, present: Present): Step[] {
  if (Object.keys(wanted).length === 0) return [];
  const before = present.dunning ?? NO_DUNNING;
  const body = { enabled: wanted.enabled ?? false, steps: wanted.steps ?? before.steps };
  const changes = changesBetween(inWords(before), inWords(body), ["enabled", "steps"]);
  const request = { operation: "setDunning", body } as const;
  return [putStep("dunning", "policy", NO_DUNNING, changes, request)];
}

function inWords({ enabled, steps }: PresentDunning) {
  const lines = steps
    .toSorted((a, b) => a.days_after_due - b.days_after_due)
    .map(({ days_after_due, webhook_event }) => `${days_after_due} d ${webhook_event}`);
  return { enabled, steps: lines };
}

export function webhookSteps(
  wanted: readonly FileWebhook[],
  present: Present,
  tell: TellFault,
): Step[] {
  if (wanted.length === 0) return [];
  const oldest = present.webhooks.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1));
  const matched = new Set<PresentEndpoint>();
  let made = 0;
  const steps = wanted.map(({ url, events }, i): Step => {
    const found = oldest.find((each) => hrefOf(each.url) === hrefOf(url));
    if (found !== undefined) {
      matched.add(found);
      return eventsStep(url, found, events);
    }
    made += 1;
    const reason = refusedUrl(url, present.url_policy);
    if (reason !== undefined) tell(["webhooks", i, "url"], `url ${reason}.`);
    if (oldest.length + made > ENDPOINTS_MAX) {
      const message = `A project has at most ${ENDPOINTS_MAX} webhook endpoints.`;
      tell(["webhooks", i], message, "Remove others first: dues webhooks list shows them.");
    }
    const body = { url, events, if_absent: true };
    const request = { operation: "createWebhook", body } as const;
    return putStep("webhooks", url, undefined, changesOfNew({ events }), request);
  });
  const others = oldest.filter((each) => !matched.has(each));
  return [
    ...steps,
    ...others.map(({ url }): Step => {
      return { section: "webhooks", key: url, act: "left", changes: [], reprices: [] };
    }),
  ];
}

function eventsStep(url: string, found: PresentEndpoint, events: FileWebhook["events"]): Step {
  const [from, to] = [found.events.toSorted(), events.toSorted()];
  const changes = isSame(from, to) ? [] : [{ field: "events", from, to }];
  const request = { operation: "updateWebhook", id: found.id, body: { events } } as const;
  return putStep("webhooks", url, found, changes, request);
}

function hrefOf(url: string): string {
  return parsedUrl(url)?.href ?? url;
}
