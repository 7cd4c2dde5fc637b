// What answers must look like: the error envelope, and the spec's own value grammars.

import { expect } from "vitest";
import type { Json } from "./app.ts";

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
export const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
export const DATE = /^\d{4}-\d{2}-\d{2}$/;

type Answered = { readonly status: number; readonly body: Json };

/** Whatever went wrong, the body is the envelope, whole and with nothing else in it. */
export function expectEnvelope(answer: Answered): void {
  const { error, ...rest } = answer.body ?? {};
  expect(rest, JSON.stringify(answer.body)).toEqual({});
  const { code, message, retryable, request_id, details, ...more } = error ?? {};
  expect(more).toEqual({});
  expect(code).toMatch(/^[a-z_]+$/);
  expect(message).toMatch(/\S/);
  expect(retryable).toBeTypeOf("boolean");
  expect(request_id).toMatch(/\S/);
  if (details === undefined) return;
  expect(details.length).toBeGreaterThan(0);
  for (const detail of details) {
    expect(detail.field).toBeTypeOf("string");
    expect(detail.code).toMatch(/\S/);
  }
}

export function expectError(answer: Answered, status: number, code: string): void {
  expect([answer.status, answer.body?.error?.code], JSON.stringify(answer.body)).toEqual([
    status,
    code,
  ]);
  expectEnvelope(answer);
}
