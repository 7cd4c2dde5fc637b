// Pages for people: sent with a policy under which nothing runs, loads or frames but what we made.

import { createHash } from "node:crypto";
import type { FastifyReply } from "fastify";
import { type Page, renderPage } from "../pages/page.ts";

export const PAGE_HEADERS = {
  "cache-control": "no-store",
  "x-robots-tag": "noindex",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  const hash = createHash("sha256").update(page.style).digest("base64");
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    ...(page.script === undefined ? [] : ["script-src 'self'"]),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  reply.headers({ ...PAGE_HEADERS, "content-security-policy": policy.join("; ") });
  return reply.type("text/html; charset=utf-8").send(renderPage(page).text);
}
