// An invoice or credit note as a page that prints well.

import type { DocumentList, InvoiceDocument } from "../../domain/documents/document.ts";
import { type Html, html } from "../html.ts";
import { initialOf, letterIcon } from "../icon.ts";
import { type Page, textColorOn } from "../page.ts";

export const PAPER_SIZES = ["a4", "letter"] as const;
export type PaperSize = (typeof PAPER_SIZES)[number];

/** Links to the PDF and, in the portal, back to all invoices. */
export type DocumentLinks = { readonly pdf: string; readonly back?: string };

export function renderInvoice(
  document: InvoiceDocument,
  size: PaperSize,
  links: DocumentLinks,
): Page {
  const { kind, issuer, customer, facts, totals, state, memo, tax_note, note } = document;
  return {
    title: `${kind} ${document.number} – ${issuer.name}`,
    icon: letterIcon(issuer.name, issuer.color),
    style: styleOf(document, size),
    body: html`<nav aria-label="Document">${
      links.back !== undefined && html`<a href="${links.back}">All invoices</a>`
    }<a href="${links.pdf}" download="${document.number}.pdf">Download PDF</a>${payButton(document, "Pay")}</nav>
<main class="${isVoid(document) && "void"}">
<header><div class="who"><span class="logo" aria-hidden="true">${initialOf(
      issuer.name,
    )}</span><div><b><bdi>${issuer.name}</bdi></b>${issuer.lines.map(
      (line) => html`<span dir="auto">${line}</span>`,
    )}</div></div>
<div class="head"><h1>${kind}</h1>${
      state !== undefined && html`<span class="pill ${state.tone}">${state.label}</span>`
    }</div></header>
<section class="two"><div><h2>${
      kind === "Invoice" ? "Billed to" : "Credited to"
    }</h2><b><bdi>${customer.name}</bdi></b>${customer.lines.map(
      (line) => html`<span dir="auto">${line}</span>`,
    )}</div>
<dl>${facts.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>
</section>
${memo !== "" && html`<p class="memo" dir="auto">${memo}</p>\n`}<table>${tableHead(document)}
${tableBody(document)}</table>
<dl class="totals">${totals.map(
      ({ label, amount, strong }) =>
        html`<div class="${strong ? "strong" : ""}"><dt>${label}</dt><dd>${amount}</dd></div>`,
    )}</dl>
${tax_note !== "" && html`<p class="tax-note" dir="auto">${tax_note}</p>\n`}${
  note !== "" && html`<p class="note">${note}</p>\n`
}${payButton(document)}${howToPay(document)}${document.lists.map(listed)}${
  document.footer !== "" && html`<footer dir="auto">${document.footer}</footer>\n`
}</main>`,
  };
}

function tableHead({ has_units }: InvoiceDocument): Html {
  if (!has_units) {
    return html`<thead><tr><th scope="col">Description</th><th scope="col" class="n">Amount</th></tr></thead>`;
  }
  return html`<thead><tr><th scope="col">Description</th><th scope="col" class="n">Units</th>
<th scope="col" class="n">Price</th><th scope="col" class="n">Amount</th></tr></thead>`;
}

function tableBody({ lines, sections, has_units }: InvoiceDocument): Html | readonly Html[] {
  const rows = (some: typeof lines) => some.map((each) => line(each, has_units));
  if (sections.length === 0) return html`<tbody>${rows(lines)}</tbody>`;
  const width = has_units ? "4" : "2";
  return sections.map(({ heading, parts, subtotal }) => {
    const head =
      heading !== undefined &&
      html`<tr class="of"><th colspan="${width}" scope="rowgroup"><bdi>${heading.title}</bdi><span>${
        heading.detail
      }</span></th></tr>`;
    const own = parts.map(
      ({ title, lines }) =>
        html`${
          title !== "" &&
          html`<tr class="when"><th colspan="${width}" scope="rowgroup">${title}</th></tr>`
        }${rows(lines)}`,
    );
    const sum =
      subtotal !== undefined &&
      html`<tr class="sum"><th colspan="${has_units ? "3" : "1"}" scope="row">${
        subtotal.label
      }</th><td class="n">${subtotal.amount}</td></tr>`;
    return html`<tbody>${head}${own}${sum}</tbody>\n`;
  });
}

/** The button to pay; at the top with the word alone: the amount stands below the totals. */
function payButton({ pay }: InvoiceDocument, label = pay?.label): Html | false {
  return pay !== undefined && html`<a class="pay" href="${pay.url}" rel="noopener">${label}</a>`;
}

/** Where to pay, and whom to ask. */
function howToPay({ payment_instructions: how, support_email }: InvoiceDocument): Html | false {
  if (how === "" && support_email === "") return false;
  return html`<section class="how">${
    how !== "" && html`<h2>How to pay</h2><p dir="auto">${how}</p>`
  }${
    support_email !== "" &&
    html`<p class="ask">Questions? <a href="mailto:${support_email}">${support_email}</a></p>`
  }</section>
`;
}

export function isVoid({ state }: InvoiceDocument): boolean {
  return state?.label === "Void";
}

function listed({ title, rows }: DocumentList): Html {
  return html`<section class="list"><h2>${title}</h2><dl>${rows.map(
    ({ date, day, text, amount }) =>
      html`<div><dt>${date !== "" && html`<time datetime="${day}">${date}</time>`}<bdi>${text}</bdi></dt><dd>${amount}</dd></div>`,
  )}</dl></section>
`;
}

type Line = InvoiceDocument["lines"][number];

function line({ title, details, parts, units, rate, amount }: Line, has_units: boolean): Html {
  if (!has_units) {
    return html`<tr><th scope="row"><bdi>${title}</bdi>${details.map(
      (detail) => html`<small>${detail}</small>`,
    )}</th><td class="n">${amount}</td></tr>`;
  }
  const times = units !== "" && (rate === "" ? "alone" : "times");
  return html`<tr class="${parts.length > 0 && "whole"}"><th scope="row"><bdi>${title}</bdi>${details.map(
    (detail) => html`<small>${detail}</small>`,
  )}</th><td class="n ${times}">${units}</td><td class="n">${rate}</td><td class="n">${amount}</td></tr>
${parts.map(
  ({ text, amount }, i) =>
    html`<tr class="part ${i === parts.length - 1 && "last"}"><td colspan="3">${text}</td><td class="n">${amount}</td></tr>\n`,
)}`;
}

/** The style of what is on this document: others stay byte for byte as they were. */
function styleOf(document: InvoiceDocument, size: PaperSize): string {
  const { issuer, memo, tax_note, lists, footer, pay, payment_instructions } = document;
  const page = size === "a4" ? "A4" : "letter";
  const texts = memo + tax_note + footer + payment_instructions + document.support_email;
  const has_more = lists.length > 0 || pay !== undefined || texts !== "";
  const brand = `:root{--brand:${issuer.color};--on-brand:${textColorOn(issuer.color)}}`;
  const has_sections = document.sections.length > 0;
  const more = `${has_more ? STYLE_OF_MORE : ""}${has_sections ? STYLE_OF_SECTIONS : ""}${isWide(document) ? STYLE_OF_WIDE : ""}${
    isVoid(document) ? STYLE_OF_VOID : ""
  }`;
  return `@page{size:${page};margin:16mm}${brand}${STYLE}${more}`;
}

/** Whether its amounts need the whole width of a phone. */
function isWide({ lines, totals, lists }: InvoiceDocument): boolean {
  const amounts = [...lines, ...totals, ...lists.flatMap(({ rows }) => rows)];
  return amounts.some(({ amount }) => amount.length > WIDE);
}

const WIDE = 15;

/** An amount breaks after its currency; a total that is too long stands below its name. */
const STYLE_OF_WIDE = `
@media(max-width:34rem){.n,.list dd{white-space:normal;overflow-wrap:normal}
.totals div{flex-wrap:wrap;gap:0 1rem}.totals dd{margin-left:auto}
td:nth-child(3):not(:last-child){grid-column:2/-1;text-align:left}}
`;

/** Headings stay with what follows them, and a subtotal with the line before it. */
const STYLE_OF_SECTIONS = `
tbody+tbody::before{content:"";display:block;height:1rem}
tr.of,tr.when{break-after:avoid}tr.sum{break-before:avoid}
.of th{font-weight:650;border-top:1px solid var(--ink);padding-top:.75rem}
.of span{color:var(--soft);font-weight:400;margin-left:.75rem}
.when th{color:var(--soft);font-size:.8438rem;font-weight:600;padding-bottom:.15rem}
.of+.when th{border-top:0;padding-top:0}
.sum th,.sum td{font-weight:650}.sum th{text-align:right;color:var(--soft);font-weight:400}
@media(max-width:34rem){tr.of{border-top-color:var(--ink)}.of th{border:0;padding:0}
.of th,.when th{grid-column:1/-1}
.of+.when{border-top:0;padding-top:0}.sum th{grid-column:1/4;text-align:left}}
`;

/** Puts the word across the whole sheet, so that nobody pays or books it by mistake. */
const STYLE_OF_VOID = `
.void{position:relative;overflow:hidden}
.void::after{content:"VOID" / "";position:absolute;inset:0;display:grid;place-items:center;
font-size:clamp(7rem,24vw,13rem);font-weight:800;letter-spacing:.06em;color:var(--bad);opacity:.13;
transform:rotate(-24deg);pointer-events:none}
.void .pill{font-size:1rem}
`;

const STYLE_OF_MORE = `
.memo,footer,.tax-note{white-space:pre-line}
.memo{margin:-.5rem 0 1.75rem}
.who span:not(.logo),.two span{text-align:left}
.tax-note{margin:1.5rem 0 0;font-weight:600}
.tax-note+.note{margin-top:.5rem}
a.pay{display:inline-block;background:var(--brand);color:var(--on-brand);font-weight:650;
text-decoration:none;border-radius:.6rem;padding:.6rem 1.15rem;print-color-adjust:exact;
-webkit-print-color-adjust:exact}
main>a.pay{margin-top:1rem}
.how{margin-top:1.5rem;break-inside:avoid}
.how p{margin:0;white-space:pre-line}
.how p+.ask{margin-top:.6rem}
.ask,.ask a{color:var(--soft)}
nav{align-items:center}
nav a.pay{color:var(--on-brand);padding:.35rem .85rem}
.list{margin-top:2.25rem;border-top:1px solid var(--line);padding-top:1rem;break-inside:avoid}
.list div{display:flex;justify-content:space-between;gap:1.5rem;padding:.15rem 0}
.list dt{color:inherit;display:flex;flex-wrap:wrap;gap:0 1rem;min-width:0}
.list time{color:var(--soft);min-width:6rem;font-variant-numeric:tabular-nums}
.list dd,.totals dd{white-space:nowrap}
.totals div{gap:1rem}
@media(max-width:34rem){.list dt,.list time{display:block}}
footer{margin-top:2.25rem;border-top:1px solid var(--line);padding-top:1rem;color:var(--soft);
font-size:.8438rem}
`;

const STYLE = `
:root{color-scheme:light dark;--bg:#eef0f4;--paper:#fff;--ink:#171c26;--soft:#545d6e;--line:#dfe3ea;
--good:#136c43;--good-bg:#e4f5ec;--warn:#8a5200;--warn-bg:#fdf1dc;--bad:#b01e30;--bad-bg:#fdeaec;
--mute:#545d6e;--mute-bg:#eceff4}
@media screen and (prefers-color-scheme:dark){:root{--bg:#0f131a;--paper:#171d27;--ink:#e8ecf4;
--soft:#a0abbe;--line:#2e3747;--good:#7fdcab;--good-bg:#12342a;--warn:#f4c273;--warn-bg:#3a2b10;
--bad:#ff9aa4;--bad-bg:#43181f;--mute:#a0abbe;--mute-bg:#242c3a}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",
Roboto,"Helvetica Neue",Arial,"Noto Sans",sans-serif;overflow-wrap:anywhere}
nav,main{max-width:50rem;margin:0 auto}
nav{display:flex;gap:1.5rem;justify-content:flex-end;padding:1.25rem clamp(1.25rem,5vw,3rem);
font-size:.9375rem}
nav a{color:inherit;text-underline-offset:.18em}
nav a:first-child:not(:last-child){margin-right:auto}
:focus-visible{outline:3px solid var(--ink);outline-offset:2px;border-radius:4px}
main{background:var(--paper);border:1px solid var(--line);border-radius:14px;margin-bottom:3rem;
padding:clamp(1.25rem,5vw,3rem)}
header{display:flex;flex-wrap:wrap;justify-content:space-between;gap:1.25rem 2rem}
.who{display:flex;gap:.9rem}
.who span:not(.logo),.two span{display:block;color:var(--soft);font-size:.9063rem}
.logo{flex:none;display:grid;place-items:center;width:2.75rem;height:2.75rem;border-radius:.75rem;
background:var(--brand);color:var(--on-brand);font-weight:700;font-size:1.25rem;
print-color-adjust:exact;-webkit-print-color-adjust:exact}
.head{display:flex;align-items:center;gap:.75rem;align-self:flex-start}
h1{font-size:1.75rem;line-height:1.2;margin:0;letter-spacing:-.025em}
h2{font-size:.8125rem;color:var(--soft);font-weight:600;margin:0 0 .25rem}
.pill{font-size:.8125rem;font-weight:600;line-height:1;border-radius:99px;padding:.35rem .65rem;
background:var(--mute-bg);color:var(--mute)}
.pill{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.pill.good{background:var(--good-bg);color:var(--good)}
.pill.warn{background:var(--warn-bg);color:var(--warn)}
.pill.bad{background:var(--bad-bg);color:var(--bad)}
.two{display:flex;flex-wrap:wrap;justify-content:space-between;gap:1.5rem 3rem;margin:2.5rem 0 2rem}
dl{margin:0}
.two dl div,.totals div{display:flex;justify-content:space-between;gap:2rem}
dt{color:var(--soft)}
dd{margin:0;font-variant-numeric:tabular-nums;text-align:right}
table{width:100%;border-collapse:collapse}
th,td{text-align:left;vertical-align:top;padding:.65rem 0 .65rem 1rem;font-weight:400;
border-top:1px solid var(--line)}
th:first-child{padding-left:0}
thead th{color:var(--soft);font-size:.8125rem;font-weight:600;border-top:0}
thead{display:table-header-group}
tr{break-inside:avoid}
.part td{border-top:0;padding-top:0;padding-bottom:.1rem;color:var(--soft);font-size:.8438rem}
.part td:first-child{padding-left:.9rem}
.whole>*{padding-bottom:.2rem}.whole{break-after:avoid}
.part.last td{padding-bottom:.65rem}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
small{display:block;color:var(--soft);font-size:.8438rem}
.totals{margin:1rem 0 0 auto;max-width:22rem;border-top:2px solid var(--ink);padding-top:.75rem;
break-inside:avoid}
.totals div{padding:.15rem 0}
.totals .strong{font-weight:650}
.totals .strong dt{color:inherit}
.totals div:last-child{font-size:1.1875rem;margin-top:.25rem}
.note{margin:2.25rem 0 0;color:var(--soft)}
@media(max-width:34rem){main{border-width:1px 0;border-radius:0}thead{display:none}.two dl{width:100%}
tr{display:grid;grid-template-columns:auto auto 1fr auto;padding:.7rem 0;
border-top:1px solid var(--line)}th,td{border:0;padding:0}
tbody th{grid-column:1/4}td:last-child{grid-column:4;grid-row:1;padding-left:1rem}
td:not(:last-child){grid-row:2;color:var(--soft);font-size:.875rem}
.times::after{content:"\\00a0×\\00a0"}.alone::after{content:"\\00a0units"}td:empty{display:none}
tr.whole{padding-bottom:.25rem}tr.part{border-top:0;padding:0 0 .15rem}
tr.part.last{padding-bottom:.7rem}.part td:first-child,.part.last td{padding:0}
.part td:first-child{grid-column:1/4;grid-row:1;padding-left:.75rem}
.part td.n{padding-left:1rem}}
@media print{body,main{background:#fff}nav{display:none}main{border:0;padding:0;max-width:none}}
`;
