// The style sheet of the portal, for screens, dark mode, phones and print.

import { textColorOn } from "../page.ts";

/** The issuer's colour is six hex digits, checked where it is set. */
export function portalStyle(color: string): string {
  return `:root{--brand:${color};--on-brand:${textColorOn(color)}}${STYLE}`;
}

const STYLE = `
:root{color-scheme:light dark;--bg:#f5f6f8;--card:#fff;--ink:#171c26;--soft:#545d6e;--line:#e1e5eb;
--track:#eceff4;--good:#136c43;--good-bg:#e4f5ec;--warn:#8a5200;--warn-bg:#fdf1dc;--bad:#b01e30;
--bad-bg:#fdeaec;--mute-bg:#eceff4}
@media(prefers-color-scheme:dark){:root{--bg:#0f131a;--card:#171d27;--ink:#e8ecf4;--soft:#a0abbe;
--line:#2a3342;--track:#242c3a;--good:#7fdcab;--good-bg:#12342a;--warn:#f4c273;--warn-bg:#3a2b10;
--bad:#ff9aa4;--bad-bg:#43181f;--mute-bg:#242c3a}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",
Roboto,"Helvetica Neue",Arial,"Noto Sans",sans-serif;overflow-wrap:anywhere}
a{color:inherit;text-underline-offset:.18em}
:focus-visible{outline:3px solid var(--ink);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-99rem;top:.5rem;background:var(--card);padding:.5rem 1rem;z-index:1}
.skip:focus{left:.5rem}
.wrap{max-width:60rem;margin:0 auto;padding:1.75rem clamp(1rem,4vw,2rem) 3rem}
header{display:flex;align-items:flex-start;gap:.9rem;margin-bottom:1.5rem}
.logo{flex:none;display:grid;place-items:center;width:2.9rem;height:2.9rem;border-radius:.8rem;
background:var(--brand);color:var(--on-brand);font-weight:700;font-size:1.3rem}
header p{margin:0;color:var(--soft);font-size:.9375rem}
h1{font-size:1.3rem;line-height:1.25;margin:0;letter-spacing:-.015em}
h2{font-size:1.06rem;margin:2.25rem 0 .7rem;letter-spacing:-.01em}
h3{font-size:1.06rem;margin:0;letter-spacing:-.01em}
.card{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:1.25rem 1.4rem}
.card+.card{margin-top:.9rem}
.due{display:flex;flex-wrap:wrap;gap:1rem 2rem;justify-content:space-between;align-items:flex-end}
.due dl{display:flex;flex-wrap:wrap;gap:1rem 2.5rem;margin:0}
.due dt{color:var(--soft);font-size:.875rem}
.due dd{margin:0;font-size:2rem;line-height:1.2;font-weight:650;letter-spacing:-.025em;
font-variant-numeric:tabular-nums}
.due dd.bad{color:var(--bad)}
.due dd small{display:block;font-size:1.25rem}
.asof{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem .8rem;margin:0;color:var(--soft);
font-size:.875rem}
.asof form{margin:0;flex:none}
.topay{flex-basis:100%;border-top:1px solid var(--line);padding-top:.35rem}
.topay ul{list-style:none;margin:0;padding:0}
.topay li{display:flex;flex-wrap:wrap;align-items:center;gap:.2rem 1rem;padding:.5rem 0}
.topay li>a:first-child{font-weight:600}
.topay li b{margin-left:auto;font-weight:600;font-variant-numeric:tabular-nums}
.topay .when{color:var(--soft);font-size:.9063rem}
.topay .when.bad{color:var(--bad)}
.topay h2{margin:1rem 0 .2rem;font-size:.9375rem}
.topay p{margin:.2rem 0 0;font-size:.9375rem}
.how{white-space:pre-line}
.soft{color:var(--soft);font-size:.9063rem}
.pages{display:flex;justify-content:space-between;gap:1rem;margin-top:.9rem}
.pages .older{margin-left:auto}
.back{margin:0;font-size:.9375rem}
.more{margin-top:.9rem}
.more summary{font-weight:600;cursor:pointer;padding:.85rem 1.4rem;background:var(--card);
border:1px solid var(--line);border-radius:14px}
.more summary:hover{border-color:var(--soft)}
.more .card{margin-top:.9rem}
button,.button{font:inherit;font-size:.875rem;font-weight:600;color:var(--ink);background:var(--card);
border:1px solid var(--line);border-radius:9px;padding:.45rem .9rem;min-height:2.4rem;cursor:pointer;
text-decoration:none;display:inline-flex;align-items:center;white-space:nowrap}
button:hover,.button:hover{border-color:var(--soft)}
button[aria-busy=true]{color:var(--soft);cursor:progress}
.top{display:flex;flex-wrap:wrap;gap:.3rem 1rem;justify-content:space-between;align-items:baseline}
.top p{margin:0;font-variant-numeric:tabular-nums}
.sub p.meta{margin:.15rem 0 0;color:var(--soft);font-size:.9063rem}
.sub p.run{margin:.35rem 0 0}
.pill{display:inline-block;font-size:.78rem;font-weight:600;line-height:1;border-radius:99px;
padding:.32rem .6rem;background:var(--mute-bg);color:var(--soft);white-space:nowrap}
.pill.good{background:var(--good-bg);color:var(--good)}
.pill.warn{background:var(--warn-bg);color:var(--warn)}
.pill.bad{background:var(--bad-bg);color:var(--bad)}
h3 .pill{margin-left:.45rem;vertical-align:.12em}
.usage{list-style:none;margin:1.1rem 0 0;padding:0;border-top:1px solid var(--line)}
.usage li{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,14rem) 7.5rem;gap:.2rem 1.25rem;
align-items:center;padding:.75rem 0;border-bottom:1px solid var(--line)}
.usage.many li{grid-template-columns:minmax(0,1fr) auto;padding:.5rem 0}
.usage .fixed .amount{grid-column:3}
.usage.many .fixed .amount{grid-column:2}
.usage b{font-weight:600;display:block}
.usage span{color:var(--soft);font-size:.9063rem}
.usage .amount,td.amount,th.amount{text-align:right;font-variant-numeric:tabular-nums}
.usage .amount{color:var(--ink);font-size:1rem}
svg{display:block;width:100%;height:2.25rem}
svg .track{fill:var(--track)}
svg .bar{fill:var(--brand)}
@media(prefers-color-scheme:dark){svg .bar{fill:color-mix(in srgb,var(--brand) 65%,#fff)}}
.sum{margin:.9rem 0 0;display:flex;justify-content:space-between;gap:1rem;font-weight:600;
font-variant-numeric:tabular-nums}
.sum span{font-weight:400;color:var(--soft)}
.sum b{font-weight:inherit;white-space:nowrap}
.sum+.sum{margin-top:.35rem}
.next span{color:inherit}
.scroll{padding:.35rem 1.4rem}
table{border-collapse:collapse;width:100%;font-size:.9375rem}
th,td{text-align:left;padding:.7rem .9rem .7rem 0;border-top:1px solid var(--line);vertical-align:top;
font-weight:400}
thead th{border-top:0;color:var(--soft);font-size:.8125rem;font-weight:600}
th:last-child,td:last-child{padding-right:0}
tbody th a{font-weight:600}
td small{display:block;color:var(--soft);font-size:.8438rem}
.none{color:var(--soft);margin:0}
.narrow{display:none}
.hide{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
footer{margin-top:2.5rem;padding-top:1.1rem;border-top:1px solid var(--line);color:var(--soft);
font-size:.875rem}
footer p{margin:0;white-space:pre-line}
.fault{max-width:32rem;margin:14vh auto 0;text-align:center}
.fault h1{font-size:1.5rem;margin-bottom:.5rem}
.fault p{color:var(--soft)}
.fault .button{margin-top:.5rem}
@media(max-width:40rem){.usage li{grid-template-columns:minmax(0,1fr) auto}
.usage .chart{grid-row:2;grid-column:1/-1}
.usage .fixed .amount{grid-column:2}
.topay li{display:grid;grid-template-columns:minmax(0,1fr) auto;padding:.7rem 0}
.topay li b{grid-area:1/2}.topay .when{grid-area:2/1/auto/-1}.topay .pay{grid-area:3/1/auto/-1}
.topay li .button.pay{margin-top:.45rem}
.more summary{padding:.85rem 1.1rem}
thead{display:none}
table,tbody,tr,td,tbody th{display:block;padding:0;border:0}
tr{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:.15rem .9rem;padding:.85rem 0;
border-top:1px solid var(--line)}
tbody tr:first-child{border-top:0}
td.amount{grid-column:2;grid-row:1}
td.wide{color:var(--soft);font-size:.875rem}
td.wide{grid-column:1}
td.state{grid-column:2;grid-row:2;text-align:right}
td.broad{display:none}
.narrow{display:inline}
.asof{width:100%;justify-content:space-between;flex-wrap:nowrap;font-size:.8125rem}
.card{padding:1.1rem}.scroll{padding:.25rem 1.1rem}.due dd{font-size:1.7rem}}
@media print{body{background:#fff}button,.skip,.pages,.asof form{display:none}.card{break-inside:avoid}}
`;

/** Only on pages that show money this way; others stay as they are. */
export const MONEY_STYLE = `
.due dd.left{max-width:13rem;font-size:.875rem;font-weight:400;letter-spacing:0;line-height:1.4;
color:var(--soft)}
tbody th a,td.amount,td.wide{white-space:nowrap}
td.wide bdi{white-space:normal}
small.parts i{font-style:normal}
.button.pay{background:var(--brand);border-color:var(--brand);color:var(--on-brand);
padding:.3rem .9rem;min-height:2rem;margin:-.25rem 0}
.button.pay:hover{border-color:var(--ink)}
td.pay{text-align:right;width:1%}
td.went{color:var(--soft);font-size:.875rem}
tbody th small{display:block;color:var(--soft);font-size:.8438rem}
@media(max-width:40rem){td.pay,td.went{grid-column:1/-1;width:auto}
td.pay{margin-top:.45rem}
tr{grid-template-rows:auto 1fr}
td.amount{grid-row:1/span 2}td.state{grid-row:3}
small.parts span{display:block}small.parts i{display:none}
.button.pay{width:100%;justify-content:center;min-height:2.75rem;margin:0}
.button.pay .narrow{white-space:pre}}
@media print{td.pay,.button.pay{display:none}}
`;
