// Pages for people as replies: under a policy by which nothing runs, loads or frames but our own.

import { createHash } from "node:crypto";
import { type Page, renderPage } from "../../pages/page.ts";
import { Content, type HeaderFields, Reply } from "../route.ts";

export const PAGE_HEADERS = {
  "cache-control": "no-store",
  "x-robots-tag": "noindex",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

export function sendPage(page: Page, status = 200, headers: HeaderFields = {}): Reply<Content> {
  const hash = createHash("sha256").update(page.style).digest("base64");
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    `img-src ${page.icon === undefined ? "'self'" : "data:"}`,
    ...(page.script === undefined ? [] : ["script-src 'self'"]),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return new Reply(status, new Content("text/html; charset=utf-8", renderPage(page).text), {
    ...headers,
    ...PAGE_HEADERS,
    "content-security-policy": policy.join("; "),
  });
}
