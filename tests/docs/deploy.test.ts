// What operators take from the repository says only what is so: metrics that are exported, settings
// that are read, files that are there.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { SETTINGS } from "../../src/config.ts";
import { Bounds } from "../../src/http/admission/bound.ts";
import "../../src/http/prometheus.ts";
import { registry } from "../../src/telemetry.ts";
import { registerWorkerMetrics } from "../../src/workers/prometheus.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

type Rule = { alert: string; expr: string; annotations: { summary: string } };
type Panel = { title: string; type: string; targets?: { expr: string }[] };

const { groups } = parse(read("deploy/alerts.yaml")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(read("deploy/grafana-dashboard.json")) as { panels: Panel[] };
const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** Of Prometheus itself: whether a process answered. */
const OF_PROMETHEUS = ["up"];

/** The names that a scrape has, for histograms those of their series. */
function exportedNames(): Set<string> {
  registerWorkerMetrics();
  new Bounds().showIn(registry);
  const names = registry.getMetricsAsArray().flatMap(({ name }) => {
    const isHistogram = registry.getSingleMetric(name)?.constructor.name === "Histogram";
    return isHistogram ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
  });
  return new Set([...names, ...OF_PROMETHEUS]);
}

/** Metrics in an expression: words that are neither called nor listed as labels. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replace(/\{[^}]*\}/g, "{}")
    .replace(/\[[^\]]*\]/g, "")
    .replace(/\b(by|without) \([^)]*\)/g, "");
  return [...bare.matchAll(/[a-z_][a-z0-9_]*(?=\s*(.?))/g)]
    .filter(([word, next]) => next !== "(" && !["and", "or", "unless", "e6"].includes(word))
    .map(([word]) => word);
}

describe("metrics", () => {
  test.each([
    ["alerts", rules.map(({ expr }) => expr)],
    ["the dashboard", shown],
  ])("%s use only metrics that are exported", (_, expressions) => {
    const known = exportedNames();
    const used = expressions.flatMap(metricsIn);
    expect(used.length).toBeGreaterThanOrEqual(expressions.length);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  test("what the workers report can be seen, every one of it", () => {
    registerWorkerMetrics();
    new Bounds().showIn(registry);
    const all = registry.getMetricsAsArray().map(({ name }) => name);
    const ours = all.filter((name) => name.startsWith("dues_"));
    const seen = shown.join("\n");
    // The same lag as nodejs_eventloop_lag_p99_seconds, but since the start: not one to watch.
    const left = ["dues_event_loop_delay_p99_seconds"];
    expect(ours.filter((name) => !seen.includes(name) && !left.includes(name))).toEqual([]);
  });

  test("every alert has a name of its own and a summary", () => {
    const names = rules.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    expect(rules.filter(({ annotations }) => annotations.summary === "")).toEqual([]);
  });

  test("promtool takes the rules, where it is installed", (context) => {
    const found = spawnSync("promtool", ["--version"]).error === undefined;
    if (!found) return context.skip("promtool is not installed");
    const said = execFileSync("promtool", ["check", "rules", join(ROOT, "deploy/alerts.yaml")]);
    expect(String(said)).toContain("SUCCESS");
  });
});

describe("containers and systemd", () => {
  const dockerfile = read("Dockerfile");
  const known = new Set(SETTINGS.map(({ name }) => name));

  test("set only what the service reads", () => {
    const [, env = ""] = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile) ?? [];
    const compose = parse(read("compose.yaml"));
    const unit = read("deploy/dues.service");
    const set = [
      ...[...env.matchAll(/(\w+)=/g)].map(([, name = ""]) => name),
      ...Object.keys(compose.services.dues.environment),
      ...[...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, pairs = ""]) =>
        pairs.split(" ").map((pair) => pair.split("=")[0] ?? ""),
      ),
    ];
    expect(set.length).toBeGreaterThan(8);
    expect(set.filter((name) => !known.has(name) && name !== "NODE_ENV")).toEqual([]);
  });

  test("what the image is made of is there, and is let through to the builder", () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(
      ([, names = ""]) => names.split(" "),
    );
    const allowed = read(".dockerignore").split("\n");
    expect(copied.length).toBeGreaterThan(8);
    expect(copied.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
    const isLetThrough = (name: string): boolean =>
      allowed.includes(`!${name}`) || (name !== "." && isLetThrough(dirname(name)));
    expect(copied.filter((name) => !isLetThrough(name))).toEqual([]);
  });

  test("the image is run by an ordinary user, and has a health check", () => {
    expect(dockerfile).toMatch(/^USER 1000:1000$/m);
    expect(dockerfile).toMatch(/^HEALTHCHECK /m);
    expect(dockerfile).toContain("/readyz");
  });

  test("every workflow and template is well-formed", () => {
    for (const path of ["workflows/ci.yml", "workflows/cluster.yml", "ISSUE_TEMPLATE/bug.yml"]) {
      expect(parse(read(`.github/${path}`)), path).toMatchObject({ name: expect.any(String) });
    }
    expect(read(".github/workflows/ci.yml")).toContain("run: .ci/run");
  });
});
