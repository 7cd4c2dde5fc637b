// What a browser sees at the base URL: whether the service is ready, and where to go from here.

import { type Html, html } from "./html.ts";
import type { Page } from "./page.ts";
import { portalStyle } from "./portal/style.ts";

const COLOR = "#3347c4";

export type Home = {
  readonly version: string;
  /** "ok", "held" or "writes_fail"; undefined while it is not ready. */
  readonly status: string | undefined;
  /** Why it is not ready, or does only a part of its work. */
  readonly reason: string;
  readonly base_url: string;
};

const LINKS = [
  ["/docs", "API reference", "Every call, with its fields and an example."],
  ["/openapi.json", "OpenAPI document", "The same for programs and generators."],
  ["/readyz", "Readiness", "For load balancers; /healthz says that the process runs."],
] as const;

export function renderHome(home: Home): Page {
  const { version, reason } = home;
  return {
    title: "dues",
    style: `${portalStyle(COLOR)}${STYLE}`,
    body: html`<div class="wrap">
<header>
<span class="logo" aria-hidden="true">d</span>
<div><h1>dues</h1>
<p>Subscription and usage billing, version ${version}</p></div>
</header>
<main>
<section class="card" aria-label="State"><p class="ready">${pill(home)}<span>${
      reason === "" ? "The service can do its work." : reason
    }</span></p></section>
<h2>Where to go</h2>
<ul class="card links">${LINKS.map(
      ([path, name, text]) => html`<li><a href="${path}">${name}</a><span>${text}</span></li>`,
    )}</ul>
<h2>First steps</h2>
<dl class="card steps">
<div><dt>A token</dt><dd>The first start printed one. Without
<code>DATABASE_URL</code> it is kept in <code>.dues/dev.json</code>, where the command line finds it:</dd>
<dd><pre><code>npx dues whoami</code></pre></dd>
<dd>With a database of your own, this makes what is missing and prints a new one:</dd>
<dd><pre><code>npx dues init --org acme --workspace main --project main</code></pre></dd></div>
<div><dt>A call</dt>
<dd><pre><code>curl ${home.base_url}/v1/customers \\
  -H "Authorization: Bearer &lt;token&gt;" \\
  -H "X-Project-Id: &lt;project id&gt;"</code></pre></dd></div>
<div><dt>A customer’s portal</dt><dd>Usage and invoices of one customer are at
<code>/portal/&lt;customer id&gt;</code>. A link that expires is made by
<code>POST /v1/customers/:id/portal-links</code>.</dd></div>
<div><dt>An agent</dt><dd>Its tools are at <code>/v1/mcp</code> (Streamable HTTP, with the same two
headers as a call).</dd></div>
</dl>
</main>
</div>`,
  };
}

function pill({ status, reason }: Home): Html {
  if (status === undefined) return html`<span class="pill bad">Not ready</span>`;
  if (reason !== "") return html`<span class="pill warn">Ready in part</span>`;
  return html`<span class="pill good">Ready</span>`;
}

const STYLE = `
.ready{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem .8rem;margin:0}
.links{list-style:none;margin:0;padding:.35rem 1.4rem}
.links li{display:flex;flex-wrap:wrap;gap:.1rem 1rem;padding:.75rem 0}
.links li+li,.steps div+div{border-top:1px solid var(--line)}
.links a{font-weight:600;min-width:11rem}
.links span{color:var(--soft)}
.steps{margin:0;padding:.35rem 1.4rem}
.steps div{padding:.9rem 0}
.steps dt{font-weight:600}
.steps dd{margin:.2rem 0 0;color:var(--soft)}
code{font:.875em ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace;color:var(--ink)}
pre{margin:.15rem 0 .3rem;padding:.7rem .9rem;background:var(--track);border-radius:10px;overflow-wrap:anywhere;
white-space:pre-wrap}
`;
