// Reads the Prometheus text format as strictly as its definition has it, and throws on a fault.

type Family = { readonly name: string; readonly type: string };

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const COMMENT = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`);
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)$`);
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y;
const NUMBER = /^([+-]?Inf|NaN|[+-]?\d+(\.\d+)?(e[+-]?\d+)?)$/i;
const TYPES = ["counter", "gauge", "histogram", "summary", "untyped"];

export class Exposition {
  readonly families = new Map<string, Family>();
  readonly #samples = new Map<string, number>();
  readonly #labels: Record<string, string>[] = [];

  /** Throws unless the text is valid. */
  constructor(text: string) {
    if (!text.endsWith("\n")) throw new Error("The last line does not end.");
    let family: Family | undefined;
    for (const line of text.split("\n")) {
      if (line === "") continue;
      const [, kind, name = "", rest = ""] = COMMENT.exec(line) ?? [];
      if (kind === "TYPE") family = this.#begin(name, rest);
      else if (kind === undefined) this.#add(line, family);
    }
    for (const { name, type } of this.families.values()) {
      if (type === "histogram") this.#checkHistogram(name);
    }
  }

  #begin(name: string, type: string): Family {
    if (!TYPES.includes(type)) throw new Error(`${name} has the unknown type ${type}.`);
    if (this.families.has(name)) throw new Error(`${name} begins twice.`);
    const family = { name, type };
    this.families.set(name, family);
    return family;
  }

  #add(line: string, family: Family | undefined): void {
    const [, name = "", text = "", value = ""] = SAMPLE.exec(line) ?? [];
    if (!NUMBER.test(value)) throw new Error(`Neither a comment nor a sample: ${line}`);
    const suffix = family?.type === "histogram" ? "(_bucket|_sum|_count)" : "";
    if (family === undefined || !new RegExp(`^${family.name}${suffix}$`).test(name)) {
      throw new Error(`${name} stands outside of its family.`);
    }
    const labels = labelsOf(text);
    const key = keyOf(name, labels);
    if (this.#samples.has(key)) throw new Error(`${key} occurs twice.`);
    this.#samples.set(key, /inf/i.test(value) ? Number.POSITIVE_INFINITY : Number(value));
    this.#labels.push(labels);
  }

  /** Each bucket holds the ones before it, and the last one everything. */
  #checkHistogram(name: string): void {
    const buckets = new Map<string, [number, number][]>();
    for (const [key, count] of this.#samples) {
      if (!key.startsWith(`${name}_bucket{`)) continue;
      const { le = "", ...labels } = labelsOf(key.slice(key.indexOf("{") + 1, -1));
      const bound = le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le);
      const series = keyOf(`${name}_count`, labels);
      buckets.set(series, [...(buckets.get(series) ?? []), [bound, count]]);
    }
    for (const [series, pairs] of buckets) {
      const counts = pairs.toSorted(([a], [b]) => a - b).map(([, count]) => count);
      const rising = counts.every((count, i) => count >= (counts[i - 1] ?? 0));
      if (!rising || counts.at(-1) !== this.#samples.get(series)) {
        throw new Error(`The buckets of ${series} do not add up: ${counts}`);
      }
    }
  }

  /** All values that any label has. */
  get labelValues(): string[] {
    return this.#labels.flatMap((labels) => Object.values(labels));
  }

  /** Undefined when there is no such series. */
  value(name: string, labels: Record<string, string> = {}): number | undefined {
    return this.#samples.get(keyOf(name, labels));
  }
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const [, name = "", value = ""] = LABEL.exec(text) ?? [];
    if (name === "" || name in labels) throw new Error(`Labels that cannot be read: ${text}`);
    labels[name] = value;
  }
  return labels;
}

function keyOf(name: string, labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return pairs.length === 0 ? name : `${name}{${pairs.sort().join(",")}}`;
}
