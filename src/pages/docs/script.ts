// The script of the reference: search, copying, the language of samples, and a sidebar that
// follows. The page is whole without it.

export const SCRIPT = `
"use strict";
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (tag, props) => Object.assign(document.createElement(tag), props);
const root = document.documentElement;
root.classList.add("js");

// The language of samples: one choice for the whole page, kept for the next visit.
const LANGUAGES = { sh: "curl", ts: "TypeScript" };
const stored = () => { try { return localStorage.getItem("language"); } catch { return null; } };
function choose(language) {
  root.dataset.language = language;
  for (const each of all(".tabs button")) each.ariaPressed = String(each.value === language);
  try { localStorage.setItem("language", language); } catch {}
}
for (const caption of all("figure.sh figcaption, figure.ts figcaption")) {
  const tabs = make("span", { className: "tabs", role: "group", ariaLabel: "Language" });
  for (const [value, textContent] of Object.entries(LANGUAGES)) {
    const button = make("button", { type: "button", value, textContent });
    button.addEventListener("click", () => {
      const { top } = caption.getBoundingClientRect();
      choose(value);
      const shown = caption.closest(".sample").querySelector("figure." + value + " figcaption");
      scrollBy(0, shown.getBoundingClientRect().top - top);
      shown.querySelector("[value=" + value + "]").focus({ preventScroll: true });
    });
    tabs.append(button);
  }
  caption.replaceChildren(tabs);
}
choose(stored() in LANGUAGES ? stored() : "sh");

// Copying.
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages that are not served over https have no clipboard of that kind.
  const area = make("textarea", { value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
for (const figure of all("figure")) {
  const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
  button.addEventListener("click", async () => {
    await copy(figure.querySelector("pre").innerText);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  figure.querySelector("figcaption").append(button);
}

// A link into a closed record opens it.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const closed = target?.closest("details:not([open])");
  if (!closed) return;
  closed.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

// Search: over titles first, then paths and names, then all the words.
const words = (element) => element.textContent.replace(/\\s+/g, " ").trim();
const entries = [
  ...all("article.op").map((op) => ({
    id: op.id, title: words(op.querySelector("h3")), hint: all(".route > *", op).map(words).join(" "),
    names: op.id + " " + words(op.querySelector(".route code")), text: words(op.firstElementChild) })),
  ...all("main h2[id]").map((h2) => {
    const parts = [];
    for (let at = h2.nextElementSibling; at && at.matches("p,table"); at = at.nextElementSibling) parts.push(words(at));
    return { id: h2.id, title: words(h2), hint: "Section", names: "", text: parts.join(" ") };
  }),
  ...all("details.rec > div[id]").map((div) => ({
    id: div.id, title: words(div.previousElementSibling), hint: div.id.startsWith("event-") ? "Event" : "Record",
    names: div.id.replace("object-", ""), text: words(div) })),
  ...all("tr[id]").map((row) => ({
    id: row.id, title: words(row.querySelector("code")), hint: "Error", names: "", text: words(row) })),
].map((entry) => {
  for (const key of ["title", "names", "text"]) entry["_" + key] = entry[key].toLowerCase();
  return entry;
});
function find(query) {
  const terms = query.toLowerCase().split(/\\s+/).filter(Boolean);
  const score = (entry) => {
    let sum = 0;
    for (const term of terms) {
      const points = entry._title.startsWith(term) ? 8 : entry._title.includes(term) ? 6
        : entry._names.includes(term) ? 4 : entry._text.includes(term) ? 1 : 0;
      if (points === 0) return 0;
      sum += points;
    }
    // Calls and records are looked for more often than errors.
    return entry.hint === "Error" ? sum / 2 : sum;
  };
  return entries.map((entry) => ({ entry, points: score(entry) }))
    .filter(({ points }) => points > 0)
    .sort((a, b) => b.points - a.points).slice(0, 30).map(({ entry }) => entry);
}
for (const nav of all("nav")) {
  const input = make("input", { type: "search", placeholder: "Search", autocomplete: "off" });
  input.setAttribute("aria-label", "Search the reference");
  input.setAttribute("aria-keyshortcuts", "/");
  const state = make("p", { className: "state", role: "status" });
  const hits = make("ul", { className: "hits" });
  const box = make("div", { className: "search", role: "search" });
  const label = make("label");
  label.append(input, make("kbd", { textContent: "/", ariaHidden: "true" }));
  box.append(label, state, hits);
  nav.before(box);
  box.ariaLabel = nav.ariaLabel;
  const links = () => all("a", hits);
  input.addEventListener("input", () => {
    const found = input.value.trim() === "" ? [] : find(input.value);
    nav.hidden = input.value.trim() !== "";
    state.textContent = nav.hidden ? (found.length === 0 ? "Nothing found" : found.length + " found") : "";
    hits.replaceChildren(...found.map(({ id, title, hint }) => {
      const link = make("a", { href: "#" + id, textContent: title });
      link.append(make("small", { textContent: hint }));
      const item = make("li");
      item.append(link);
      return item;
    }));
  });
  hits.addEventListener("click", () => { const menu = nav.closest("details"); if (menu) menu.open = false; });
  box.addEventListener("keydown", (event) => {
    const at = links().indexOf(document.activeElement);
    if (event.key === "Escape") { input.value = ""; input.dispatchEvent(new Event("input")); input.focus(); }
    else if (event.key === "ArrowDown") links()[at + 1]?.focus();
    else if (event.key === "ArrowUp") at > 0 ? links()[at - 1].focus() : input.focus();
    else if (event.key === "Enter" && at < 0 && links()[0]) links()[0].click();
    else return;
    event.preventDefault();
  });
}
addEventListener("keydown", (event) => {
  const typing = event.target.matches("input,textarea,select,[contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const menu = document.querySelector("details.menu");
  if (menu.offsetParent !== null) menu.open = true;
  all(".search input").find((input) => input.offsetParent !== null)?.select();
});

// The sidebar follows: marks what is read, and keeps it in sight.
const side = document.querySelector("aside");
const places = new Map(all("nav a", side).map((link) => [link.hash.slice(1), link]));
const marks = all("main [id]").filter(({ id }) => places.has(id));
let current;
function follow() {
  const line = innerHeight / 4;
  let last = marks[0];
  for (const mark of marks) { if (mark.getBoundingClientRect().top > line) break; last = mark; }
  const link = last && places.get(last.id);
  if (!link || link === current) return;
  current?.removeAttribute("aria-current");
  current = link;
  link.setAttribute("aria-current", "location");
  const { top, bottom } = link.getBoundingClientRect();
  if (top < 80 || bottom > innerHeight - 40) side.scrollTop += top - innerHeight / 3;
}
let due = false;
addEventListener("scroll", () => {
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; follow(); });
}, { passive: true });
follow();
`;
