// What every page of the portal has: who bills whom at its head, who that is at its foot, links
// that carry a signed access on; and the page that is shown instead when something is refused.

import type { ErrorCode } from "../../errors.ts";
import type { Settings } from "../../schema/settings.ts";
import { type Html, html } from "../html.ts";
import { initialOf, letterIcon } from "../icon.ts";
import type { Page } from "../page.ts";
import { portalStyle } from "./style.ts";

const SCRIPT_PATH = "/portal-assets/refresh.js";
const DEFAULT_COLOR = "#3347c4";

export type Frame = {
  readonly issuer: Settings;
  readonly customer: { readonly id: string; readonly name: string };
  /** The signature of the link that was followed; the page's own links carry it on. */
  readonly access: string | undefined;
};

type Framed = { readonly main: Html; readonly more_style?: string };

export function framed({ issuer, customer }: Frame, { main, more_style = "" }: Framed): Page {
  const { name, logo_color } = issuer;
  return {
    title: `Billing – ${name}`,
    icon: letterIcon(name, logo_color),
    style: `${portalStyle(logo_color)}${more_style}`,
    script: SCRIPT_PATH,
    body: html`<a class="skip" href="#main">Skip to content</a>
<div class="wrap">
<header>
<span class="logo" aria-hidden="true">${initialOf(name)}</span>
<div><h1><bdi>${name}</bdi></h1>
<p>Billing for <bdi>${customer.name}</bdi></p></div>
</header>
<main id="main">
${main}
</main>
${footer(issuer)}
</div>`,
  };
}

/** A path of this customer's portal, with what links carry on. */
export function linkTo(
  { customer, access }: Frame,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const parts = new URLSearchParams({ ...query, ...(access !== undefined && { access }) });
  const suffix = parts.size === 0 ? "" : `?${parts}`;
  return `/portal/${customer.id}${path}${suffix}`;
}

export function empty(text: string): Html {
  return html`<div class="card"><p class="none">${text}</p></div>`;
}

export function contact({ support_email }: Settings): Html | false {
  return (
    support_email !== "" &&
    html`<p>Questions about a bill? <a href="mailto:${support_email}">${support_email}</a></p>`
  );
}

function footer(issuer: Settings): Html {
  const { name, address, tax_id } = issuer;
  return html`<footer><p><bdi>${name}</bdi></p>${address !== "" && html`<p>${address}</p>`}${
    tax_id !== "" && html`<p>Tax number <bdi>${tax_id}</bdi></p>`
  }${contact(issuer)}</footer>`;
}

const NO_PAGE = [
  "This page does not exist",
  "The link may be incomplete. Ask whoever sent it to you for a new one.",
] as const;

const ERROR_TEXTS: Partial<Record<ErrorCode, readonly [string, string]>> = {
  not_found: NO_PAGE,
  validation_error: NO_PAGE,
  limit_exceeded: [
    "This page cannot be shown",
    "An amount in this account is too large. Ask whoever bills you to look at it.",
  ],
  rate_limited: ["One moment, please", "There were many requests just now. Try again shortly."],
};

/** Errors that stay until somebody else has acted. */
const IN_VAIN: readonly ErrorCode[] = ["not_found", "validation_error", "limit_exceeded"];

/** The page for a refusal; `path` is the one that was asked for. */
export function renderPortalError(code: ErrorCode, path: string): Page {
  const [title, text] = ERROR_TEXTS[code] ?? [
    "This page is not available just now",
    "Nothing is wrong with your account. Please try again in a few minutes.",
  ];
  return {
    title,
    style: portalStyle(DEFAULT_COLOR),
    body: html`<main class="wrap"><div class="fault" role="alert"><h1>${title}</h1>
<p>${text}</p>${
      !IN_VAIN.includes(code) && html`<a class="button" href="${path}">Try again</a>`
    }</div></main>`,
  };
}

/** Shows that the page is being computed anew, also when a browser shows one that it kept. */
export const PORTAL_SCRIPT = `"use strict";
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", () => {
    const button = form.querySelector("button");
    button.setAttribute("aria-busy", "true");
    button.disabled = true;
    button.textContent = "Refreshing…";
  });
}
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
`;
