// The style sheet of the reference, for screens, dark mode, phones and print.

export const STYLE = `
:root{color-scheme:light dark;--bg:#fff;--side:#f7f8fa;--ink:#1b2230;--soft:#566074;--line:#e3e7ee;--edge:#838da1;
--accent:#3347c4;--wash:#eef1ff;--code-bg:#f1f3f7;--panel:#121826;--panel-2:#1a2233;--panel-ink:#dbe3f4;
--panel-soft:#8d9ab5;--key:#9db9ff;--text:#9be0b4;--get:#1d63c1;--post:#157347;--put:#7a3fb8;
--patch:#9a5b00;--delete:#bd2636;--head:3.25rem}
@media(prefers-color-scheme:dark){:root{--bg:#0f131b;--side:#131924;--ink:#e4e9f3;--soft:#9aa6bd;
--line:#263043;--edge:#66738d;--accent:#9db0ff;--wash:#1a2340;--code-bg:#1b2333;--panel:#0a0e16;--panel-2:#151c2a;
--get:#79b4ff;--post:#6fd39b;--put:#c7a0ff;--patch:#f0b660;--delete:#ff8f98}}
*{box-sizing:border-box}
html{scroll-padding-top:1.5rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.6 system-ui,-apple-system,"Segoe UI",
Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:break-word}
a{color:var(--accent);text-decoration:none}
a:hover,footer a,main :is(p,li,td,dd) a{text-decoration:underline;text-underline-offset:.18em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:4px}
code,pre{font-family:ui-monospace,"SF Mono",SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;
font-size:.875em}
:not(pre)>code{background:var(--code-bg);border-radius:4px;padding:.1em .35em}
.skip{position:absolute;left:-99rem;top:.5rem;background:var(--bg);padding:.5rem 1rem;z-index:3}
.skip:focus{left:.5rem}
.brand{display:flex;align-items:baseline;gap:.6rem;font-weight:700;font-size:1.25rem;
letter-spacing:-.02em;color:var(--ink)}
.brand small{font-weight:400;font-size:.8125rem;letter-spacing:0;color:var(--soft)}
aside{position:fixed;inset:0 auto 0 0;width:17.5rem;overflow-y:auto;background:var(--side);
border-right:1px solid var(--line);padding:1.5rem 1rem 3rem;scrollbar-width:thin}
aside .brand{padding:0 .6rem 1rem}
nav ul{list-style:none;margin:0;padding:0}
nav h2{font-size:.75rem;letter-spacing:.05em;text-transform:uppercase;color:var(--soft);
margin:1.35rem 0 .3rem;padding:0 .6rem;font-weight:600}
nav h2 a{color:inherit}
nav li a{display:flex;align-items:baseline;gap:.5rem;padding:.22rem .6rem;border-radius:6px;
color:var(--ink);font-size:.875rem;line-height:1.4}
nav li a:hover,nav [aria-current]{background:var(--wash);color:var(--accent);text-decoration:none}
nav a{overflow-wrap:anywhere}nav [aria-current]{font-weight:600}nav h2 [aria-current]{background:none}
.search{position:sticky;top:-1.5rem;z-index:1;background:var(--side);margin:0 -1rem;padding:.6rem 1.35rem}
.search label{position:relative;display:block}
.search input{width:100%;font:inherit;font-size:.9063rem;color:var(--ink);background:var(--bg);
border:1px solid var(--edge);border-radius:8px;padding:.42rem 2.2rem .42rem .7rem;appearance:none}
.search kbd{position:absolute;right:.55rem;top:50%;transform:translateY(-50%);font:600 .75rem/1
ui-monospace,Menlo,Consolas,monospace;color:var(--soft);border:1px solid var(--line);
border-radius:4px;padding:.2rem .38rem}
.search input:focus+kbd{display:none}
.state{font-size:.8125rem;color:var(--soft);margin:.5rem .35rem .25rem}.state:empty{display:none}
.hits{list-style:none;margin:0;padding:0}
.hits a{display:block;padding:.35rem .6rem;border-radius:6px;color:var(--ink);font-size:.875rem;
line-height:1.35}
.hits a:hover,.hits a:focus{background:var(--wash);color:var(--accent);text-decoration:none}
.hits small{display:block;color:var(--soft);font-size:.75rem;overflow-wrap:anywhere}
nav li[class] a::before{width:2.5rem;flex:none;font:700 .625rem/1 ui-monospace,Menlo,Consolas,monospace;
letter-spacing:.03em;text-align:right}
nav .get a::before{content:"GET";color:var(--get)}nav .post a::before{content:"POST";color:var(--post)}
nav .put a::before{content:"PUT";color:var(--put)}nav .patch a::before{content:"PATCH";color:var(--patch)}
nav .delete a::before{content:"DEL";color:var(--delete)}
.menu{display:none}
main{margin-left:17.5rem;padding:0 clamp(1.25rem,4vw,4rem) 5rem;max-width:96rem}
h1,h2,h3,h4{line-height:1.25;letter-spacing:-.015em}
h1{font-size:2.1rem;margin:3rem 0 .75rem}
main section>h2{font-size:1.55rem;margin:0 0 .5rem;padding-top:2.75rem}
h3{font-size:1.18rem;margin:0 0 .35rem}
h3 a,main h2 a{color:inherit}
h3 a:hover,main h2 a:hover{text-decoration:none}
h3 a:hover::after,main h2 a:hover::after{content:" #";color:var(--soft);font-weight:400}
p{margin:.5rem 0 .75rem;max-width:44rem}
.lead{font-size:1.125rem;color:var(--soft)}
main .intro>h2{font-size:1.25rem;margin:0 0 .35rem;padding-top:2rem}
section{border-top:1px solid var(--line);margin-top:3rem}
section.intro{border:0;margin:0}
.op{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,29rem);gap:1rem 3rem;
padding:2.25rem 0;border-top:1px solid var(--line)}
h2+.op,.rec+.op{margin-top:1.25rem}
.op:target h3 a{color:var(--accent)}
.route{display:flex;flex-wrap:wrap;align-items:center;gap:.6rem;margin:0 0 .75rem}
.route code{background:none;padding:0;font-size:.9rem}
.m{font:700 .6875rem/1 ui-monospace,Menlo,Consolas,monospace;letter-spacing:.03em;border-radius:4px;
padding:.3rem .42rem;background:color-mix(in srgb,currentColor 12%,transparent)}
.get{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}.patch{color:var(--patch)}
.delete{color:var(--delete)}
.needs{list-style:none;display:flex;flex-wrap:wrap;gap:.4rem;margin:.75rem 0 0;padding:0;
font-size:.8125rem;color:var(--soft)}
.needs li{border:1px solid var(--line);border-radius:99px;padding:.1rem .65rem}
.needs code{background:none;padding:0;color:var(--ink)}
table{border-collapse:collapse;width:100%;font-size:.9063rem;margin:1.5rem 0 0}
caption{text-align:left;font-weight:600;font-size:.9375rem;padding-bottom:.45rem}
caption code{font-weight:400}
th,td{text-align:left;vertical-align:top;padding:.55rem 0;border-top:1px solid var(--line);
font-weight:400}
th{padding-right:1rem}
thead th{border-top:0;font-size:.75rem;color:var(--soft);padding:.2rem 1rem .4rem 0}
.f th{width:42%}
.f th code{background:none;padding:0;font-weight:600;font-size:.875rem;word-break:break-word}
.f i{font-style:normal;color:var(--soft);font-size:.8125rem}.f th i{display:block}
.f em{font-style:normal;font-size:.75rem;color:var(--soft);white-space:nowrap}
.req em{color:var(--delete)}
.f td small,.f .v{display:block;color:var(--soft);font-size:.8125rem}
.f .v code{white-space:nowrap}
.f td>i{margin-right:.35rem}
.d1 th{padding-left:1rem}.d2 th{padding-left:2rem}.d3 th{padding-left:3rem}
.d1 th,.d2 th,.d3 th{background:linear-gradient(var(--line),var(--line)) no-repeat .25rem 0/2px 100%}
.d2 th{background-position:1.25rem 0}.d3 th{background-position:2.25rem 0}
.w td:first-child{width:19rem;padding-right:1rem}
.e td:first-child{width:3.5rem;color:var(--soft)}.e td:nth-child(2){width:42%;padding-right:1rem}
details>summary{cursor:pointer}
.rec{margin-top:1.25rem}
.at{font-size:.9063rem;margin:.75rem 0 0}
.ans{font-size:.9375rem;margin:1.5rem 0 0}.ans b{font-weight:600}
.err{font-size:.875rem;color:var(--soft);margin-top:1.25rem}
.rec>summary{font-size:.9375rem;font-weight:600;width:fit-content}
.rec table{margin-top:.5rem}
.rec{border:1px solid var(--line);border-radius:10px;padding:.7rem 1rem;max-width:52rem}
.rec[open]>summary{margin-bottom:.25rem}
.sample{min-width:0}
.sample>div{position:sticky;top:1.5rem;display:grid;gap:1rem}
figure{margin:0;border-radius:10px;overflow:hidden;background:var(--panel);color:var(--panel-ink);
border:1px solid var(--panel-2)}
figcaption{display:flex;align-items:center;gap:.75rem;min-height:2.25rem;padding:.3rem .9rem;
font-size:.75rem;color:var(--panel-soft);background:var(--panel-2)}
figcaption button{font:inherit;color:inherit;background:none;border:0;border-radius:5px;padding:.28rem .5rem;
cursor:pointer}
figcaption button:hover{color:#fff}
figcaption :focus-visible,pre:focus-visible{outline-color:#9db0ff;outline-offset:-2px}
.tabs{display:flex;gap:.15rem;margin-left:-.5rem}
.tabs [aria-pressed=true]{color:#fff;background:#33405c}
.copy{margin-left:auto;margin-right:-.5rem}
.js[data-language=sh] .ts,.js[data-language=ts] .sh{display:none}
pre{margin:0;padding:.85rem .9rem;overflow:auto;max-height:26rem;font-size:.8125rem;line-height:1.55;
tab-size:2;scrollbar-width:thin}
pre code{font-size:inherit}
pre a{color:var(--panel-ink);text-decoration:underline;text-underline-offset:.2em}
pre b{font-weight:400;color:var(--key)}pre i{font-style:normal;color:var(--text)}
.intro figure,section>figure{max-width:44rem;margin:.75rem 0}
.rec>div{scroll-margin-top:3.5rem}.rec figure{margin-top:1rem}.rec p{margin:.25rem 0 .5rem}
.rec>summary>code{font-weight:600;background:none;padding:0}
.intro table{max-width:52rem;margin-top:.75rem}
footer{margin-top:4rem;padding-top:1rem;border-top:1px solid var(--line);font-size:.875rem;
color:var(--soft)}
@media(max-width:75rem){.op{grid-template-columns:minmax(0,1fr)}.sample>div{position:static}
.op,.rec{max-width:52rem}}
@media(max-width:56rem){aside{display:none}main{margin-left:0;padding-bottom:3rem}
html{scroll-padding-top:calc(var(--head) + 1rem)}
html:has(.menu[open]){scroll-padding-top:calc(var(--head) + 55vh + 1rem)}
.menu{display:block;position:sticky;top:0;z-index:2;background:var(--side);
border-bottom:1px solid var(--line)}
.menu>summary{display:flex;justify-content:space-between;align-items:center;height:var(--head);
padding:0 1.25rem;list-style:none}
.menu>summary::-webkit-details-marker{display:none}
.menu>summary::after{content:"Contents";font-size:.8125rem;color:var(--accent)}
.menu[open]>summary::after{content:"Close"}
.menu nav,.menu .hits{max-height:55vh;overflow-y:auto;padding:0 .65rem 1.5rem}
.menu .search{top:0;margin:0;padding:.35rem 1.25rem .5rem}
.menu nav li a{padding:.45rem .6rem}
h1{font-size:1.7rem;margin-top:1.75rem}}
@media(max-width:30rem){.f th{width:46%;padding-right:.6rem}.d1 th{padding-left:.75rem}
.d2 th{padding-left:1.35rem}.d3 th{padding-left:1.9rem}.e td:first-child{width:2.75rem}
table{font-size:.875rem}.e code{word-break:break-word}
.w thead{display:none}.w td{display:block;width:auto}.w td:first-child{width:auto;padding-bottom:0}
.w td+td{border-top:0}}
@media print{aside,.menu,.skip,figcaption button{display:none}main{margin:0;padding:0;max-width:none}
body{font-size:10.5pt}.op{display:block;break-inside:auto}h2,h3,caption{break-after:avoid}
tr,figure{break-inside:avoid}
details::details-content{content-visibility:visible;block-size:auto}.sample>div{position:static;margin-top:1rem}pre{max-height:none;
white-space:pre-wrap}figure{background:#fff;color:#000;border-color:#bbb}
figcaption{background:#eee;color:#333}pre b,pre i{color:inherit}a{color:inherit}}
`;
