// What a receiver of webhooks can trust: a delivery that is whole, recent and signed by its secret.

import { expect, test } from "vitest";
import { verifyWebhook, WebhookVerificationError } from "../../src/client/webhooks.ts";
import { sign, standardSignature } from "../../src/domain/webhooks.ts";

const secret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;
const other = `whsec_${Buffer.from("fedcba9876543210fedcba9876543210").toString("base64")}`;
const body = '{"event":"invoice.created","created_at":"2026-01-01T00:00:00.000Z","data":{"ü":1}}';
const now = new Date("2026-01-01T00:00:00.000Z");
const timestamp_s = now.getTime() / 1000;
const standard = (secrets: readonly string[], text = body, id = "m1", at = timestamp_s) => ({
  "Webhook-Id": id,
  "webhook-timestamp": String(at),
  "webhook-signature": standardSignature(secrets, { id, timestamp_s: at, body: text }),
});

test("a good delivery gives its message, by either signature and either kind of headers", async () => {
  const plain = { "x-service-signature": sign(secret, body) };
  const untimed = { now, allow_untimed: true };
  expect((await verifyWebhook(body, plain, secret, untimed)).event).toBe("invoice.created");
  const bytes = Buffer.from(body);
  for (const raw of [bytes, new Uint8Array(bytes), new Uint8Array(bytes).buffer]) {
    const { data } = await verifyWebhook(raw, new Headers(plain), secret, untimed);
    expect(data).toEqual({ ü: 1 });
  }
  expect((await verifyWebhook(body, standard([secret]), secret, { now })).event).toBe(
    "invoice.created",
  );
  expect(
    (await verifyWebhook(body, { ...plain, ...standard([secret]) }, secret, { now })).event,
  ).toBeDefined();
});

test("beside a good secret, one that is empty or no base64 changes nothing", async () => {
  const plain = { "x-service-signature": sign(secret, body) };
  const untimed = { now, allow_untimed: true };
  for (const none of ["", "whsec_", "whsec_!!!"]) {
    expect(await verifyWebhook(body, standard([secret]), [none, secret], { now })).toBeDefined();
    expect(await verifyWebhook(body, plain, [secret, none], untimed)).toBeDefined();
    const forged = { "x-service-signature": sign(none, body) };
    await expect(verifyWebhook(body, forged, [none, secret], untimed)).rejects.toThrow(/not of/);
    await expect(verifyWebhook(body, forged, none, untimed)).rejects.toThrow(/No secret/);
  }
});

test("while a secret is rotated either of the two is enough", async () => {
  expect(await verifyWebhook(body, standard([other, secret]), secret, { now })).toBeDefined();
  expect(await verifyWebhook(body, standard([secret]), [other, secret], { now })).toBeDefined();
  expect(
    await verifyWebhook(body, { "x-service-signature": sign(secret, body) }, [other, secret], {
      now,
      allow_untimed: true,
    }),
  ).toBeDefined();
});

test("a captured delivery without the timed headers is refused, unless asked for and young", async () => {
  const captured = { "x-service-signature": sign(secret, body) };
  await expect(verifyWebhook(body, captured, secret, { now })).rejects.toThrow(/allow_untimed/);
  const hours = (n: number) => ({
    now: new Date(now.getTime() + n * 3_600_000),
    allow_untimed: true,
  });
  expect(await verifyWebhook(body, captured, secret, hours(72))).toBeDefined();
  await expect(verifyWebhook(body, captured, secret, hours(73))).rejects.toThrow(/72 hours/);
  const undated = '{"event":"x"}';
  const headers = { "x-service-signature": sign(secret, undated) };
  await expect(verifyWebhook(undated, headers, secret, hours(0))).rejects.toThrow(/72 hours/);
});

test.each([
  ["another body", `${body} `, standard([secret])],
  ["another secret", body, standard([other])],
  ["another id", body, { ...standard([secret]), "Webhook-Id": "m2" }],
  ["another time", body, { ...standard([secret]), "webhook-timestamp": String(timestamp_s + 1) }],
  ["an old delivery", body, standard([secret], body, "m1", timestamp_s - 301)],
  ["one from the future", body, standard([secret], body, "m1", timestamp_s + 301)],
  ["a signature of nothing", body, { ...standard([secret]), "webhook-signature": "" }],
  ["no id", body, { "webhook-timestamp": "1", "webhook-signature": "v1,x" }],
  ["no signature", body, {}],
  ["a plain signature of another body", body, { "x-service-signature": sign(secret, "x") }],
  ["a plain signature of another length", body, { "x-service-signature": "abc" }],
])("%s is refused", async (_, text, headers) => {
  const options = { now, allow_untimed: true };
  await expect(verifyWebhook(text, headers, secret, options)).rejects.toThrow(
    WebhookVerificationError,
  );
});

test("a bad standard signature is not made good by a plain one", async () => {
  const headers = { ...standard([other]), "x-service-signature": sign(secret, body) };
  await expect(verifyWebhook(body, headers, secret, { now })).rejects.toThrow(
    WebhookVerificationError,
  );
});

test("an empty secret checks nothing", async () => {
  const headers = { "x-service-signature": sign("", body) };
  await expect(verifyWebhook(body, headers, "")).rejects.toThrow(/secret/);
  await expect(verifyWebhook(body, headers, [])).rejects.toThrow(/secret/);
  await expect(verifyWebhook(body, headers, "whsec_")).rejects.toThrow(/secret/);
  await expect(verifyWebhook(body, headers, "=")).rejects.toThrow(/secret/);
});

test("a body that was parsed already is told as such", async () => {
  const parsed = JSON.parse(body) as string;
  await expect(verifyWebhook(parsed, standard([secret]), secret, { now })).rejects.toThrow(
    /before anything parsed them/,
  );
});
