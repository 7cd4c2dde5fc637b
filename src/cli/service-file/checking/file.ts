// Checks a service.yaml and lists every fault with its line: first against the schema, then by the
// rules about several fields. Needs no server.

import { Ajv, type ErrorObject } from "ajv";
import { parseTimestamp } from "../../../domain/dates.ts";
import { fieldName, knownFields, pointerSteps } from "../../../schema/fault-messages.ts";
import { FORMATS } from "../../../schema/formats.ts";
import { nearest } from "../../../schema/nearest.ts";
import {
  type FileCharge,
  type FileMetric,
  type FilePlan,
  ServiceFile,
} from "../../../schema/service-file.ts";
import type { FileCoupon, FileSettings } from "../../../schema/service-file-money.ts";
import { checkCharge, checkMetric, checkPrices, type Tell } from "./charges.ts";
import { hintFor, messageFor } from "./messages.ts";
import { checkCoupon, checkSettings } from "./money.ts";
import { urlFault } from "./webhook-url.ts";
import { checkMetadataDepth, checkPlanSize, checkWriting } from "./writing.ts";
import { type Fault, type Parsed, type Path, readYaml } from "./yaml.ts";

export type CheckedFile = {
  /** The project that the file declares. */
  readonly wanted: ServiceFile;
  readonly source: Parsed;
};

const FAULTS_MAX = 100;

const ajv = new Ajv({
  verbose: true,
  allErrors: true,
  strict: true,
  strictTypes: false,
  allowUnionTypes: true,
  // A test does it: the command need not compile the schema of schemas.
  meta: false,
  validateSchema: false,
});
for (const [format, isRight] of Object.entries(FORMATS)) ajv.addFormat(format, isRight);
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
  if (isObject(source.value)) checkMeaning(source.value, fitting(marks), tell);
  checkWriting(source, source.value, [], tell);
  if (marks.length > 0) return faultsOf(marks);
  return { wanted: source.value as ServiceFile, source };
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

/** The first faults in the order of lines; of several at one place only the first. */
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

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Placed = { readonly entry: Fields; readonly at: Path };

/** The entries of a section of which these fields fit the schema. */
function entriesOf(file: Fields, section: string, fits: Fits, fields: readonly string[]): Placed[] {
  const list = file[section];
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown, i) => {
    const at: Path = [section, i];
    return isObject(entry) && fields.every((field) => fits([...at, field])) ? [{ entry, at }] : [];
  });
}

const MEASURE = ["aggregation_type", "field_name", "dimensions", "weighted_by"];

function checkMeaning(file: Fields, fits: Fits, tell: Tell): void {
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
  for (const { entry, at } of entriesOf(file, "catalog", fits, ["metadata"])) {
    checkMetadataDepth(entry.metadata, [...at, "metadata"], tell);
  }
  checkPlanCharges(file, fits, tell);
  for (const { entry, at } of entriesOf(file, "plans", fits, [])) {
    if (fits(at)) checkPlanSize(entry as FilePlan, at, tell);
  }
  checkMoney(file, fits, tell);
  if (isObject(file.dunning)) checkDunning(file.dunning, tell);
  for (const { entry, at } of entriesOf(file, "webhooks", fits, ["url"])) {
    const fault = urlFault(String(entry.url));
    if (fault !== undefined) tell([...at, "url"], `url ${fault}.`);
  }
}

/** Checks charge by charge: what is wrong with one says nothing about the others. */
function checkPlanCharges(file: Fields, fits: Fits, tell: Tell): void {
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

function checkMoney(file: Fields, fits: Fits, tell: Tell): void {
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
