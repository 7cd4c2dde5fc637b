// `dues demo`: fills an empty sandbox with a company's year, and says what to look at.

import { type Command, Option } from "commander";
import type { Dues } from "../../client/dues.ts";
import type { Project } from "../../client/types.ts";
import { monotonicMs } from "../../clock.ts";
import { needProject, remote, wholeNumber, withConnection } from "../connection/command.ts";
import { type Connection, type ConnectionFlags, pathOf } from "../connection/profile.ts";
import { AlreadyReported, CliError, type Io, printJson } from "../terminal/io.ts";
import { Progress } from "../terminal/progress.ts";
import { visible } from "../terminal/visible.ts";

type Flags = ConnectionFlags & {
  readonly seed: number;
  readonly customers: number;
  readonly months: number;
  readonly json?: boolean;
};

const CUSTOMERS = 50;
const MONTHS = 12;

export function demoCommand(io: Io): Command {
  return remote("demo", "writes", "Fill an empty sandbox with an AI company's year of bills.", [
    ["dues demo", "50 customers, their usage, invoices and payments, in half a minute"],
    ["dues demo --seed 7", "another company; the same seed gives the same figures"],
    ["dues projects create demo --sandbox", "an empty project, for dues demo --project demo"],
  ])
    .option("--seed <number>", "what chance begins with", wholeNumber(0, 2 ** 31), 1)
    .addOption(hidden("--customers <count>", wholeNumber(8, CUSTOMERS), CUSTOMERS))
    .addOption(hidden("--months <count>", wholeNumber(1, MONTHS), MONTHS))
    .option("--json", "print the figures as JSON")
    .action(withConnection<Flags>(io, (connection, flags) => runDemo(io, connection, flags)));
}

/** A flag for the tests, which need a smaller demo. */
function hidden(flags: string, parser: (text: string) => number, fallback: number): Option {
  return new Option(flags).argParser(parser).default(fallback).hideHelp();
}

async function runDemo(io: Io, connection: Connection, flags: Flags): Promise<void> {
  const { dues, profile } = connection;
  const project = await emptySandbox(io, dues, needProject(connection));
  const started = monotonicMs();
  // Loaded on demand: no other command needs a company.
  const [{ liveYear }, { figuresOf }, { demoText, linksOf }] = await Promise.all([
    import("./year.ts"),
    import("./figures.ts"),
    import("./closing-words.ts"),
  ]);
  const progress = new Progress(io, monotonicMs);
  const show = (part: number, text: string) =>
    progress.show(part, () => `${text} (${Math.floor(part * 100)} %)`);
  try {
    const { subscribers, events } = await liveYear(dues, project.id, flags, show);
    show(1, "the figures");
    const figures = await figuresOf(dues, events);
    const links = await linksOf(dues, profile.base_url, subscribers);
    progress.end();
    if (flags.json) return printJson(io, { seed: flags.seed, figures, links });
    const spent_s = Math.round((monotonicMs() - started) / 1000);
    const named = flags.project === undefined ? "" : ` --project ${project.slug}`;
    io.out(demoText({ figures, links, spent_s, named }));
  } catch (error) {
    progress.end();
    const text = error instanceof Error ? error.message : String(error);
    return refuse(io, dues, project, `The demo stopped half way: ${text}`);
  }
}

/** Live projects are for real bills, and a demo among real records could not be told apart. */
async function emptySandbox(io: Io, dues: Dues, id: string): Promise<Project> {
  const { projects } = await dues.listProjects({});
  const project = projects.find((each) => each.id === id);
  if (project === undefined) throw new CliError("failed", `There is no project ${id}.`);
  const name = pathOf(project);
  if (project.mode !== "sandbox") {
    return refuse(io, dues, project, `${name} is live: a demo goes into a sandbox.`);
  }
  const there = await whatIsThere(dues);
  if (there.length === 0) return project;
  return refuse(io, dues, project, `${name} is not empty: it has ${there.join(", ")}.`);
}

async function whatIsThere(dues: Dues): Promise<string[]> {
  const lists: [string, readonly unknown[]][] = [
    ["customers", (await dues.listCustomers({ limit: 1 })).customers],
    ["plans", (await dues.listPlans({ archived: "1" })).plans],
    ["metrics", (await dues.listMetrics({ archived: "1" })).metrics],
    ["catalog items", (await dues.listCatalogItems({ archived: "1" })).catalog_items],
    ["add-ons", (await dues.listAddOns({ archived: "1" })).add_ons],
    ["taxes", (await dues.listTaxes({ archived: "1" })).taxes],
    ["coupons", (await dues.listCoupons({ archived: "1" })).coupons],
    ["webhook endpoints", (await dues.listWebhooks()).webhook_endpoints],
  ];
  return lists.filter(([, rows]) => rows.length > 0).map(([name]) => name);
}

/** Says what is wrong, and how to make a project that a demo can go into. */
async function refuse(io: Io, dues: Dues, project: Project, text: string): Promise<never> {
  const { projects } = await dues.listProjects({});
  const taken = new Set(projects.map(({ slug }) => slug));
  let slug = "demo";
  for (let i = 2; taken.has(slug); i++) slug = `demo-${i}`;
  const workspace = project.workspace_slug;
  io.err(`dues: ${visible(text)}
Make another project and fill that:
  dues projects create ${slug} --workspace ${workspace} --sandbox
  dues demo --project ${workspace}/${slug}
`);
  throw new AlreadyReported("failed");
}
