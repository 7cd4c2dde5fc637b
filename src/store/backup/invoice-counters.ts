// The counters of the numbers of invoices and credit notes as an operator sees and moves them.
// Invoices take their numbers in new-invoices.ts, credit notes in credit-notes.ts.

import type pg from "pg";
import { BackupError } from "./format.ts";

/** A wish that a project, or each of them, gives no number of the year below `next` from now on. */
export type NextNumber = {
  /** An id, `organization/workspace/project`, or only the slug of the project. */
  readonly project: string | undefined;
  readonly year: number;
  readonly next: number;
  readonly series: "invoices" | "credit notes";
};

export type InvoiceCounter = {
  /** `organization/workspace/project`. */
  readonly project: string;
  readonly year: number;
  readonly last: number;
};

/** The counters of both series. */
export type Counters = {
  readonly counters: readonly InvoiceCounter[];
  readonly credit_note_counters: readonly InvoiceCounter[];
};

/** A counter that had passed the wanted number, and stayed as it was. */
export type PassedCounter = InvoiceCounter & Pick<NextNumber, "series" | "next">;

type Project = { readonly id: string; readonly slug: string; readonly path: string };

const COUNTERS = { invoices: "invoice_counters", "credit notes": "credit_note_counters" } as const;

/** The order in which everybody takes counters: those of credit notes first. */
function bySeries(a: NextNumber, b: NextNumber): number {
  return a.series < b.series ? -1 : a.series > b.series ? 1 : 0;
}

/** A statement that moves a counter forward, never back. */
function raise(series: NextNumber["series"]): string {
  return `
  insert into ${COUNTERS[series]} as c (project_id, year, last)
  values ($1, $2, $3)
  on conflict (project_id, year) do update set last = greatest(c.last, excluded.last)
  returning last`;
}

/** Raises counters in the caller's transaction; returns those that were higher already. */
export async function raiseCounters(
  client: pg.ClientBase,
  wanted: readonly NextNumber[],
): Promise<PassedCounter[]> {
  if (wanted.length === 0) return [];
  const passed: PassedCounter[] = [];
  const projects = await listProjects(client);
  for (const { project, year, next, series } of wanted.toSorted(bySeries)) {
    // Nobody knows which of them went on: a gap does less harm than a number given out twice.
    const meant = project === undefined ? projects : [find(projects, project)];
    for (const { id, path } of meant) {
      const values = [id, year, next - 1];
      const { rows } = await client.query<{ last: number }>(raise(series), values);
      const last = rows[0]?.last ?? 0;
      if (last >= next) passed.push({ project: path, year, last, series, next });
    }
  }
  return passed;
}

export async function listCounters(client: pg.ClientBase): Promise<Counters> {
  const paths = new Map((await listProjects(client)).map(({ id, path }) => [id, path]));
  return {
    counters: await listSeries(client, "invoices", paths),
    credit_note_counters: await listSeries(client, "credit notes", paths),
  };
}

async function listSeries(
  client: pg.ClientBase,
  series: NextNumber["series"],
  paths: ReadonlyMap<string, string>,
): Promise<InvoiceCounter[]> {
  const { rows } = await client.query<{ project_id: string; year: number; last: number }>(
    `select project_id, year, last from ${COUNTERS[series]} order by year`,
  );
  return rows
    .map(({ project_id, ...counter }) => ({ project: paths.get(project_id) ?? "", ...counter }))
    .sort((a, b) => (a.project < b.project ? -1 : 1));
}

function find(projects: readonly Project[], named: string): Project {
  const found = projects.filter(({ id, slug, path }) => [id, slug, path].includes(named));
  const [project] = found;
  if (project !== undefined && found.length === 1) return project;
  const names = projects.map(({ path }) => path).join(", ");
  const fault = found.length === 0 ? "There is no project" : "There are several projects";
  throw new BackupError(`${fault} ${named}. The projects are: ${names}.`);
}

async function listProjects(client: pg.ClientBase): Promise<Project[]> {
  const { rows } = await client.query<Project>(`
    select p.id, p.slug, o.slug || '/' || w.slug || '/' || p.slug as path
      from projects p
      join organizations o on o.id = p.organization_id
      join workspaces w on w.organization_id = p.organization_id and w.id = p.workspace_id
     order by path`);
  return rows;
}
