// Names of operations, from method and path: the method names of a generated client.

import type { Method, Route } from "../route.ts";

/** Path words that are not the plain name of what they hold. */
const NOUNS: Readonly<Record<string, string>> = { catalog: "catalog-items", addons: "add-ons" };

/** Words that end in s and are one thing all the same. */
const SINGLE = /(ss|tics|status|settings)$/;

/** A summary that opens with one of these says better what happens than the method does. */
const TELLING = /^(archive|freeze|purge|record|remove|revoke|send|set)\b/i;

const PLAIN: Readonly<Record<Method, string>> = {
  GET: "get",
  POST: "create",
  PUT: "set",
  PATCH: "update",
  DELETE: "delete",
};

/** A name for each route; two routes of one name are a fault of the table. */
export function operationIds(routes: readonly Route[]): ReadonlyMap<Route, string> {
  const paths = new Set(routes.map((route) => `${route.method} ${parts(route.path).join("/")}`));
  const names = new Map<Route, string>();
  const taken = new Map<string, Route>();
  for (const route of routes) {
    const name = camel(wordsOf(route, paths));
    const other = taken.get(name);
    if (other !== undefined) {
      throw new Error(`${route.method} ${route.path} and ${other.path} are both named ${name}.`);
    }
    taken.set(name, route);
    names.set(route, name);
  }
  return names;
}

function wordsOf(route: Route, paths: ReadonlySet<string>): string[] {
  const path = parts(route.path);
  const nouns = path.filter((part) => part !== ":");
  const last = nouns.at(-1) ?? "";
  const owner = nouns.at(-2);
  const onOne = path.at(-1) === ":";
  if (last === "me") return ["get", "current", singular(owner ?? "")];
  if (route.method === "POST" && owner !== undefined && !isPlural(last)) {
    if (last === "batch") return [verbOf(route), singular(owner), last];
    return actOn(last, singular(owner));
  }
  const owners = nouns.slice(0, -1).map(singular);
  const holds = isPlural(last) || paths.has(`${route.method} ${[...path, ":"].join("/")}`);
  if (route.method === "GET" && !onOne && holds) return ["list", ...owners, last];
  const all = route.method === "DELETE" && !onOne && holds;
  return [verbOf(route), ...(all ? ["all"] : []), ...owners, all ? last : singular(last)];
}

/** `rotate-secret` on `webhooks/:id` is rotateWebhookSecret, `advance` on `clock` advanceClock. */
function actOn(act: string, owner: string): string[] {
  const [verb = "", ...rest] = act.split("-");
  return [verb, owner, ...rest];
}

function verbOf(route: Route): string {
  if (/^create or update\b/i.test(route.summary)) return "upsert";
  const telling = route.method === "GET" ? null : TELLING.exec(route.summary);
  return telling?.[1]?.toLowerCase() ?? PLAIN[route.method];
}

/** The path without its version; a parameter is a bare colon. */
function parts(path: string): string[] {
  return path
    .split("/")
    .filter((part) => part !== "" && part !== "v1")
    .map((part) => (part.startsWith(":") ? ":" : (NOUNS[part] ?? part)));
}

function isPlural(word: string): boolean {
  return word.endsWith("s") && !SINGLE.test(word);
}

function singular(word: string): string {
  if (!isPlural(word)) return word;
  return word.endsWith("ies") ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}

function camel(words: readonly string[]): string {
  return words
    .flatMap((word) => word.split(/[^A-Za-z0-9]+/))
    .map((word, i) => (i === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join("");
}
