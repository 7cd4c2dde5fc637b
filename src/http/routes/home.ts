// What is at the base URL: a page for browsers, the same as JSON for others, and the icon.

import type { Context } from "../../context.ts";
import { Refusal } from "../../errors.ts";
import { ICON_ICO, ICON_SVG } from "../../pages/icon.ts";
import { ICON_PATH } from "../../pages/page.ts";
import type { Queryable } from "../../store/db/db.ts";
import { VERSION } from "../../version.ts";
import { sendPage } from "../documents/send-page.ts";
import { checkReady, type Readiness } from "../readiness.ts";
import { JSON_TYPE } from "../responses.ts";
import { Content, point, Reply, type Route, read } from "../route.ts";

const common = {
  method: "GET",
  tag: "System",
  scope: "public",
  project: "none",
  reply: [200, null],
  hidden: true,
  always: true,
} as const;

const LINKS = {
  docs: "/docs",
  openapi: "/openapi.json",
  health: "/healthz",
  ready: "/readyz",
  mcp: "/v1/mcp",
};

const HELD = "The service was restored and waits for dues resume: nothing is billed until then.";
const WRITES_FAIL = "The database answers but takes no writes.";

export function homeRoutes(readiness: Readiness): Route[] {
  const home = point({
    ...common,
    path: "/",
    id: "getHome",
    summary: "Where to go from the base URL",
    headers: { vary: "accept" },
    async handle({ db, context, request }) {
      const state = await stateOf(db, readiness, context);
      if (request.headers.accept?.includes("text/html") === true) {
        // Loaded when somebody looks at it, which at a worker nobody may.
        const { renderHome } = await import("../../pages/home.ts");
        const { base_url } = context.config;
        return sendPage(renderHome({ ...state, base_url, version: VERSION }));
      }
      const { status = "unavailable" } = state;
      const body = { name: "dues", version: VERSION, status, links: LINKS };
      return new Reply(200, new Content(JSON_TYPE, JSON.stringify(body)), {
        "cache-control": "no-store",
      });
    },
  });
  return [home, icon(ICON_PATH, "getIcon", "image/svg+xml", ICON_SVG), favicon];
}

function icon(path: string, id: string, type: string, data: string | Buffer): Route {
  return read({
    ...common,
    path,
    id,
    summary: "The icon of the pages",
    async handle() {
      return new Reply(200, new Content(type, data), {
        "cache-control": "public, max-age=86400",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
        "x-content-type-options": "nosniff",
      });
    },
  });
}

const favicon = icon("/favicon.ico", "getFavicon", "image/x-icon", ICON_ICO);

async function stateOf(
  db: Queryable,
  readiness: Readiness,
  context: Pick<Context, "clock" | "config">,
) {
  try {
    const { status, fault } = await checkReady(db, readiness, context);
    const reason = { ok: "", held: HELD, writes_fail: fault ?? WRITES_FAIL }[status];
    return { status, reason };
  } catch (error) {
    // The page says why; a fault that is no refusal is a database that is away.
    const reason = error instanceof Refusal ? error.message : "The database does not answer.";
    return { status: undefined, reason };
  }
}
