// The reference: the OpenAPI document for programs, the same as a page for people. What makes them
// is loaded when it is asked for.

import { createHash } from "node:crypto";
import type { Context } from "../../context.ts";
import type { OpenApiDocument } from "../../schema/openapi.ts";
import { JSON_TYPE } from "../responses.ts";
import { Content, Reply, type Route, read } from "../route.ts";

/** Every route of the service, which is not known yet when these two are made. */
export type Table = () => readonly Route[] | Promise<readonly Route[]>;

/** Both are made of the whole table, once: it does not change while the process runs. */
export function referenceRoutes(table: Table): Route[] {
  let json: string | undefined;
  let page: Page | undefined;
  const hidden = {
    method: "GET" as const,
    tag: "System",
    scope: "public" as const,
    project: "none" as const,
    reply: [200, null] as const,
    hidden: true as const,
  };
  const openapi = read({
    ...hidden,
    path: "/openapi.json",
    id: "getOpenApi",
    summary: "The OpenAPI document",
    async handle({ context }) {
      json ??= JSON.stringify(await describe(table, context));
      return new Reply(200, new Content(JSON_TYPE, json));
    },
  });
  const docs = read({
    ...hidden,
    path: "/docs",
    id: "getDocs",
    summary: "The reference for people",
    async handle({ context }) {
      page ??= await render(await describe(table, context));
      const content = new Content("text/html; charset=utf-8", page.html);
      return new Reply(200, content, { "content-security-policy": page.policy });
    },
  });
  return [openapi, docs];
}

async function describe(table: Table, { config }: Context): Promise<OpenApiDocument> {
  const { openApi } = await import("../openapi/document.ts");
  return openApi(await table(), config.base_url);
}

type Page = { readonly html: string; readonly policy: string };

async function render(document: OpenApiDocument): Promise<Page> {
  const { renderDocs } = await import("../../pages/docs/reference.ts");
  const { SCRIPT } = await import("../../pages/docs/script.ts");
  const { STYLE } = await import("../../pages/docs/style.ts");
  const policy = [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    `script-src ${hashOf(SCRIPT)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return { html: renderDocs(document), policy: policy.join("; ") };
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
