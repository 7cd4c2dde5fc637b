// The events of the reference are those that endpoints can subscribe to, each with a whole body.

import { expect, test } from "vitest";
import { eventAnchor, eventsSection } from "../../../src/pages/docs/events.ts";
import { examplesOf } from "../../../src/pages/docs/samples.ts";
import { WEBHOOK_EVENTS } from "../../../src/schema/webhooks.ts";
import { document } from "../../support/document.ts";

const page = eventsSection(document, examplesOf(document)).text;

test.each([...WEBHOOK_EVENTS])("%s has its data and a whole body", (event) => {
  const [, rest = ""] = page.split(`id="${eventAnchor(event)}"`);
  const own = rest.slice(0, rest.indexOf("</details>"));
  expect(own).toContain("<caption>In data</caption>");
  const [, sample = ""] = /<pre tabindex="0"><code>([\s\S]*?)<\/code>/.exec(own) ?? [];
  const body = JSON.parse(sample.replace(/<[^>]*>/g, ""));
  expect(body.event).toBe(event);
  expect(Object.values(body.data).every((part) => part !== null)).toBe(true);
  // No record of a body is told elsewhere: a receiver gets all of it.
  expect(sample).not.toContain("→");
});

test("every header of a delivery is told", () => {
  for (const name of [
    "X-Service-Signature",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
  ]) {
    expect(page).toContain(`<td><code>${name}</code></td>`);
  }
});
