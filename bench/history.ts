// What a project with years behind it costs, in pages of the database: every read that the table of
// routes has, the exports, and the duties of the billing job. Pages say the same on a busy machine.

import { strict as assert } from "node:assert";
import {
  exportedCustomers,
  exportedEvents,
  exportedInvoices,
  exportedPayments,
  exportedSubscriptions,
  type Table,
} from "../src/cli/commands/csv-tables.ts";
import { Dues } from "../src/client/dues.ts";
import { measureDuties } from "./history-duties.ts";
import { type Kind, measureReads, type Read, type Reads } from "./history-reads.ts";
import { openSite, type Site } from "./history-site.ts";
import { amount, atLeast, atMost, type Bench, type Figure, ratio } from "./report.ts";
import { print, type Side, startService } from "./stage.ts";

/** Of each table, and of one customer or subscription; then of events. */
const FULL = [
  { rows: 25_000, owned: 500, linked: true },
  { rows: 500_000, owned: 200_000 },
] as const;
const QUICK = [
  { rows: 2_000, owned: 100, linked: true },
  { rows: 20_000, owned: 10_000 },
] as const;
const DUE = 10_000;
const QUICK_DUE = 2_000;
const PAGES_MAX = 500;
const LOOK_PAGES_MAX = 50;
const GROWTH_MAX = 1.1;
const ROWS_PER_SECOND = 5_000;
const MEMORY_MB = 256;
/** Reads that are told one by one. */
const TOLD_PAGES = 100;

export const benchHistory: Bench = async ({ quick }) => {
  const [much, events] = quick ? QUICK : FULL;
  const site = await openSite(much, events);
  try {
    const reads = figuresOf(await measureReads(site, much.rows));
    const exported = await measureExports(site);
    return [...reads, ...exported, ...(await duties(site, quick ? QUICK_DUE : DUE))];
  } finally {
    await site.end();
  }
};

function figuresOf(reads: Reads): Figure[] {
  const all = [...reads.values()].flat();
  for (const { path, pages, rows } of all) {
    if (pages > TOLD_PAGES) print(`GET ${path} `, `${pages} pages, ${rows} rows`);
  }
  const refused = all.filter(({ status }) => status >= 400);
  for (const { path, status } of refused) print(`GET ${path} `, `${status}`);
  const told = (kind: Kind) => all.filter((read) => read.kind === kind && read.status < 400);
  return [
    ...[...reads].flatMap(([path, these]) => figureOf(path, these)),
    amount("GETs that were refused", `of ${all.length}`, refused.length, null),
    amount("the costliest count", "pages", costliest(told("count")).pages, null),
    amount("the costliest offset", "pages", costliest(told("offset")).pages, null),
  ];
}

function figureOf(path: string, reads: readonly Read[]): Figure[] {
  const answered = reads.filter(({ kind, status }) => kind === "read" && status < 400);
  if (answered.length === 0) return [];
  const worst = costliest(answered);
  const query = worst.path.split("?")[1];
  const shown = query === undefined ? "" : `, the most by ${query.replace(/[0-9a-f-]{36}/g, "…")}`;
  const name = `GET ${path}, ${answered.length} ways${shown}`;
  return [amount(name, "pages", worst.pages, atMost(PAGES_MAX))];
}

function costliest(reads: readonly Read[]): Read {
  const [worst] = reads.toSorted((a, b) => b.pages - a.pages);
  assert.ok(worst);
  return worst;
}

async function measureExports({ stage }: Site): Promise<Figure[]> {
  const service = await startService(stage, "api");
  try {
    const { token, project_id } = stage.profile;
    const dues = new Dues({ base_url: service.url, token, project_id });
    const tables = {
      customers: () => exportedCustomers(dues),
      subscriptions: () => exportedSubscriptions(dues, undefined),
      invoices: () => exportedInvoices(dues, {}, undefined),
      payments: () => exportedPayments(dues, {}, undefined),
      events: () => exportedEvents(dues, {}, undefined),
    };
    const idle_mb = service.rssMb();
    const peaks: number[] = [];
    const figures: Figure[] = [];
    for (const [name, open] of Object.entries(tables)) {
      const { rows, seconds, peak_mb } = await readThrough(await open(), service);
      if (peak_mb !== undefined) peaks.push(peak_mb);
      const title = `export of ${rows} ${name}`;
      figures.push(amount(title, "rows/s", rows / seconds, atLeast(ROWS_PER_SECOND)));
    }
    if (idle_mb === undefined || peaks.length === 0) return figures;
    const above_mb = Math.max(...peaks) - idle_mb;
    return [...figures, amount("exports above idle", "MB", above_mb, atMost(MEMORY_MB))];
  } finally {
    await service.stop();
  }
}

async function readThrough({ pages }: Table, service: Side) {
  const start = performance.now();
  let rows = 0;
  let peak_mb: number | undefined;
  for await (const page of pages) {
    rows += page.length;
    const held_mb = service.rssMb();
    if (held_mb !== undefined) peak_mb = Math.max(peak_mb ?? 0, held_mb);
  }
  return { rows, seconds: (performance.now() - start) / 1_000, peak_mb };
}

async function duties(site: Site, due: number): Promise<Figure[]> {
  const costs = await measureDuties(site, due);
  const looks = costs.map(({ look_pages }) => look_pages);
  const look = "a look whether a duty has work, at most";
  return [
    ...costs.map(({ name, batches, max, first_pages, last_pages }) => {
      assert.ok(batches > 1, `${name} has more than one batch to do`);
      const title = `${name}: the last of ${batches} batches of ${max} ÷ the first`;
      return ratio(title, "pages", [[last_pages, first_pages]], atMost(GROWTH_MAX));
    }),
    amount(look, "pages", Math.max(...looks), atMost(LOOK_PAGES_MAX)),
  ];
}
