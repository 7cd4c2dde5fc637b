// Checks a service.yaml and lists every fault with its line: first against the schema, then by the
// rules about several fields. Needs no server.

import { Ajv, type ErrorObject } from "ajv";
import { parseTimestamp } from "../domain/dates.ts";
import { CURRENCIES } from "../schema/currencies.ts";
import { fieldName, knownFields, pointerSteps } from "../schema/fault-messages.ts";
import { nearest } from "../schema/nearest.ts";
import { type FileCharge, type FileMetric, ServiceFile } from "../schema/service-file.ts";
import type { FileCoupon, FileSettings } from "../schema/service-file-money.ts";
import { parsedUrl } from "../schema/urls.ts";
import { checkCharge, checkMetric, checkPrices, type Tell } from "./check-charges.ts";
import { checkCoupon, checkSettings } from "./check-money.ts";
import { hintFor, messageFor } from "./fault-messages.ts";
import { type Fault, type Parsed, type Path, readYaml } from "./read-yaml.ts";

export type CheckedFile = { readonly file: ServiceFile; readonly source: Parsed };

const FAULTS_MAX = 100;

const ajv = new Ajv({
  verbose: true,
  allErrors: true,
  strict: true,
  strictTypes: false,
  allowUnionTypes: true,
});
ajv.addFormat("currency", (text: string) => Object.hasOwn(CURRENCIES, text));
ajv.addFormat("timestamp", (text: string) => parseTimestamp(text) !== undefined);
ajv.addKeyword("x-must");
ajv.addKeyword({
  keyword: "x-max-bytes",
  type: "object",
  schemaType: "number",
  errors: false,
  validate: (max: number, value: unknown) => Buffer.byteLength(JSON.stringify(value)) <= max,
});
const validate = ajv.compile(ServiceFile);

/** The file when it is good, else every fault in it, in the order of its lines. */
export function checkFile(bytes: Uint8Array): CheckedFile | Fault[] {
  const source = readYaml(bytes);
  if (Array.isArray(source)) return source;
  const marks: Mark[] = [];
  const mark = (path: Path, describe: DescribeFault, part?: "key") => {
    marks.push({ ...source.at(path, part), path, describe });
  };
  const tell: Tell = (path, message, hint, part) => mark(path, () => ({ message, hint }), part);
  if (!validate(source.value)) {
    for (const error of validate.errors ?? []) markShape(source, error, mark);
  }
  if (isObject(source.value)) checkMeaning(source.value as Loose, fitting(marks), tell);
  checkWriting(source, source.value, [], tell);
  if (marks.length > 0) return faultsOf(marks);
  return { file: source.value as ServiceFile, source };
}

/** Whether what stands at a path fits the schema, with all that is in it. */
type Fits = (path: Path) => boolean;

/** The rules about several fields are held wherever those fields fit the schema. */
function fitting(marks: readonly Mark[]): Fits {
  const unfit = new Set(
    marks.flatMap(({ path }) => path.map((_, i) => fieldName(path.slice(0, i + 1)))),
  );
  return (path) => !unfit.has(fieldName(path));
}

/** A message and a hint, made when they are shown: of thousands of faults 100 are. */
type DescribeFault = () => Pick<Fault, "message" | "hint">;

/** Where something is wrong. */
type Mark = { line: number; column: number; readonly path: Path; readonly describe: DescribeFault };

/** The first in the order of lines; of several at one place only the first. */
function faultsOf(marks: readonly Mark[]): Fault[] {
  const ordered = marks.toSorted((a, b) => a.line - b.line || a.column - b.column);
  const faults: Fault[] = [];
  const seen = new Set<string>();
  for (const { line, column, path, describe } of ordered) {
    const field = fieldName(path);
    const key = `${line}:${column}:${field}`;
    if (seen.has(key)) continue;
    seen.add(key);
    faults.push({ line, column, field, ...describe() });
    if (faults.length >= FAULTS_MAX) break;
  }
  return faults;
}

type MarkAt = (path: Path, describe: DescribeFault, part?: "key") => void;

function markShape(source: Parsed, error: ErrorObject, mark: MarkAt): void {
  const path = pathOf(source.value, error.instancePath);
  const params = error.params as Record<string, unknown>;
  if (error.keyword === "additionalProperties") {
    const key = String(params.additionalProperty);
    mark([...path, key], () => unknownKey(error, key), "key");
    return;
  }
  if (error.keyword === "required") {
    const missing = String(params.missingProperty);
    const at = [...path, missing];
    mark(at, () => ({
      message: `${fieldName(at)} is missing.`,
      hint: descriptionOf(error, missing),
    }));
    return;
  }
  mark(path, () => ({
    message: `${fieldName(path) || "The file"} ${messageFor(error)}.`,
    hint: hintFor(path, error),
  }));
}

function unknownKey(error: ErrorObject, key: string): ReturnType<DescribeFault> {
  const known = knownFields(error);
  if (key === "amount" && known.includes("rate")) {
    return { message: "The key amount is not known here.", hint: "The file calls it rate." };
  }
  const near = nearest(key, known);
  const hint = near === undefined ? `Known here: ${known.join(", ")}.` : `Did you mean ${near}?`;
  return { message: `The key ${key} is not known here.`, hint };
}

/** What the schema says about a field. */
function descriptionOf(error: ErrorObject, field: string): string | undefined {
  const { properties } = error.parentSchema as { properties?: Record<string, Described> };
  return properties?.[field]?.description;
}

type Described = { readonly description?: string };

/** A JSON pointer as a path, with numbers for the indexes of lists. */
function pathOf(value: unknown, pointer: string): Path {
  let at = value;
  return pointerSteps(pointer).map((part) => {
    const step = Array.isArray(at) ? Number(part) : part;
    at = (at as Record<string, unknown> | undefined)?.[step];
    return step;
  });
}

type Fields = Readonly<Record<string, unknown>>;
type Loose = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Placed = { readonly entry: Fields; readonly at: Path };

/** The entries of a section of which these fields fit the schema. */
function entriesOf(file: Loose, section: string, fits: Fits, fields: readonly string[]): Placed[] {
  const list = file[section];
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown, i) => {
    const at: Path = [section, i];
    return isObject(entry) && fields.every((field) => fits([...at, field])) ? [{ entry, at }] : [];
  });
}

const MEASURE = ["aggregation_type", "field_name", "dimensions", "weighted_by"];

function checkMeaning(file: Loose, fits: Fits, tell: Tell): void {
  for (const section of ["taxes", "catalog", "metrics", "addons", "plans", "coupons"]) {
    checkUnique(entriesOf(file, section, fits, ["code"]), "code", tell);
  }
  checkUnique(entriesOf(file, "webhooks", fits, ["url"]), "url", tell);
  for (const { entry, at } of entriesOf(file, "metrics", fits, MEASURE)) {
    checkMetric(entry as FileMetric, at, tell);
  }
  for (const { entry, at } of entriesOf(file, "addons", fits, ["catalog_ref", "amount_cents"])) {
    if ((entry.catalog_ref === undefined) === (entry.amount_cents === undefined)) {
      const message = "An add-on needs exactly one price: catalog_ref or amount_cents.";
      tell(entry.catalog_ref === undefined ? at : [...at, "amount_cents"], message);
    }
  }
  checkPlanCharges(file, fits, tell);
  checkMoney(file, fits, tell);
  if (isObject(file.dunning)) checkDunning(file.dunning, tell);
  for (const { entry, at } of entriesOf(file, "webhooks", fits, ["url"])) {
    const fault = urlFault(String(entry.url));
    if (fault !== undefined) tell([...at, "url"], `url ${fault}.`);
  }
}

/** Charge by charge: what is wrong with one says nothing about the others. */
function checkPlanCharges(file: Loose, fits: Fits, tell: Tell): void {
  const dimensions = new Map(
    entriesOf(file, "metrics", fits, ["code", "dimensions"]).map(({ entry }) => {
      return [entry.code, (entry as FileMetric).dimensions ?? []];
    }),
  );
  const currencies = new Map(
    entriesOf(file, "catalog", fits, ["code", "currency"]).map(({ entry }) => {
      return [entry.code, entry.currency ?? "USD"];
    }),
  );
  for (const { entry, at } of entriesOf(file, "plans", fits, [])) {
    const charges: readonly unknown[] = Array.isArray(entry.charges) ? entry.charges : [];
    for (const [i, each] of charges.entries()) {
      const place = [...at, "charges", i];
      if (!isObject(each) || !fits(place)) continue;
      const charge = each as FileCharge;
      const isGood = checkCharge(charge, place, tell);
      const named = dimensions.get(charge.metric_ref);
      if (isGood && named !== undefined) checkPrices(charge, named, place, tell);
      const currency = currencies.get(charge.catalog_ref);
      const isOther = currency !== undefined && currency !== entry.currency;
      if (isOther && fits([...at, "currency"])) {
        const message = `${charge.catalog_ref} is priced in ${currency}, the plan in ${entry.currency}.`;
        tell([...place, "catalog_ref"], message);
      }
    }
  }
}

function checkMoney(file: Loose, fits: Fits, tell: Tell): void {
  for (const { entry, at } of entriesOf(file, "coupons", fits, COUPON_TERMS)) {
    checkCoupon(entry as FileCoupon, at, tell);
  }
  const { settings } = file;
  if (isObject(settings) && fits(["settings", "payment_url"])) {
    checkSettings(settings as FileSettings, ["settings"], tell);
  }
}

const COUPON_TERMS = ["percent", "amount_cents", "currency"];

function checkUnique(entries: readonly Placed[], key: string, tell: Tell): void {
  const first = new Map<unknown, Path>();
  for (const { entry, at } of entries) {
    const before = first.get(entry[key]);
    if (before === undefined) first.set(entry[key], at);
    else tell([...at, key], `${fieldName(before)} has this ${key} already: ${entry[key]}`);
  }
}

function checkDunning(dunning: Fields, tell: Tell): void {
  const steps: readonly unknown[] = Array.isArray(dunning.steps) ? dunning.steps : [];
  if (dunning.enabled === true && steps.length === 0) {
    tell(["dunning", "steps"], "dunning.steps is required when dunning is enabled.");
  }
  const seen = new Set<unknown>();
  for (const [i, step] of steps.entries()) {
    if (!isObject(step)) continue;
    if (seen.has(step.webhook_event)) {
      tell(["dunning", "steps", i, "webhook_event"], "This event has a step already.");
    }
    seen.add(step.webhook_event);
  }
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const PRIVATE = /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[f[cd])/;

/** What is wrong with a webhook's URL; undefined when nothing is. */
export function urlFault(text: string): string | undefined {
  const url = parsedUrl(text);
  if (url === undefined) return "must be a full URL such as https://example.com/webhooks";
  if (url.username !== "" || url.password !== "") return "must not hold a user name or password";
  if (url.hash !== "") return "must not hold a # part";
  if (url.protocol === "https:") return undefined;
  // http is allowed where the service may allow it: to this machine, and to private addresses.
  const near = LOOPBACK.test(url.hostname) || PRIVATE.test(url.hostname);
  return url.protocol === "http:" && near ? undefined : "must start with https://";
}

const WHOLE = /(_cents|days_after_due|trial_days|free_events)$/;
/** The same, in the sections about money only: elsewhere they may be names of one's own. */
const WHOLE_OF_MONEY = /^(times|max_redemptions|net_payment_days|late_usage_periods)$/;
const UNITS = /^(up_to|free_units|package_size)$/;

/** Text that PostgreSQL cannot store, and numbers that are not plain digits, such as 1e3. */
function checkWriting(source: Parsed, value: unknown, path: Path, tell: Tell): void {
  if (typeof value === "string" && !isPlainText(value)) {
    tell(path, `${fieldName(path)} holds U+0000 or half a character.`);
  }
  if (typeof value === "number") checkNumber(source.sourceOf(path) ?? "", path, tell);
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    checkWriting(source, inner, [...path, Array.isArray(value) ? Number(key) : key], tell);
  }
}

function checkNumber(written: string, path: Path, tell: Tell): void {
  const name = String(path.at(-1));
  const message = `${fieldName(path)} is written as ${written}.`;
  const isMoney = path[0] === "coupons" || path[0] === "settings";
  const isWhole = WHOLE.test(name) || (isMoney && WHOLE_OF_MONEY.test(name));
  if (isWhole && !/^[-+]?\d+$/.test(written)) {
    tell(path, message, "Write a plain whole number.");
  }
  // Of more than 15 digits a number may have lost some when it was read.
  const isPlain = /^[-+]?\d+(\.\d+)?$/.test(written) && written.replace(/\D/g, "").length <= 15;
  if (UNITS.test(name) && path[0] === "plans" && !path.includes("properties") && !isPlain) {
    tell(path, message, `Write a plain decimal, with quotes if it is long: ${name}: "1000"`);
  }
}

function isPlainText(text: string): boolean {
  return !text.includes("\u0000") && text.isWellFormed();
}
