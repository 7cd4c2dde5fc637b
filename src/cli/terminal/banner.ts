// What a start prints when the service answers: how it is reached, with which token, and what to do
// next. Fits a terminal of 80 columns.

import { networkInterfaces } from "node:os";
import { relative } from "node:path";
import { type Config, isEveryAddress, urlAt } from "../../config.ts";

type Account = {
  readonly organization_id: string;
  readonly project_id: string;
  readonly token: string;
};

export type Start = {
  readonly running: {
    readonly base_url: string;
    readonly profile: Account | undefined;
    /** Whether this start made the token. */
    readonly first: boolean;
  };
  readonly config: Config;
  readonly profile_file: string;
  /** Elsewhere what is printed is a log, which is kept and read by many. */
  readonly is_terminal: boolean;
};

const LABEL_WIDTH = 18;
const NOT_SHOWN = "not shown, because this is no terminal";
const FIRST_TOKEN = "dues init --org default --workspace default --project default";

export function banner(start: Start): string {
  const { base_url, profile } = start.running;
  const rows: [label: string, value: string][] = [
    ["Base URL", base_url],
    ...(profile === undefined ? [] : accountRows(start, profile)),
    ["API reference", `${base_url}/docs`],
    ["Customer portal", `${base_url}/portal/<customer id>`],
  ];
  const lines = rows.map(([label, value]) => `  ${label.padEnd(LABEL_WIDTH)}${value}\n`);
  const hints = hintsOf(start).map((line) => `  ${line}\n`);
  const below = hints.length === 0 ? "" : `\n${hints.join("")}`;
  return `\ndues is ready.\n\n${lines.join("")}${below}\n`;
}

function accountRows(start: Start, account: Account): [string, string][] {
  const { organization_id, project_id, token } = account;
  const project: [string, string] = ["Project", project_id];
  if (keepsSecrets(start)) {
    return [["Organization", NOT_SHOWN], project, ["Token", `${NOT_SHOWN}: run ${FIRST_TOKEN}`]];
  }
  return [["Organization", organization_id], project, ...tokenRows(start, token)];
}

/** Logs are kept and read by many, and with open key creation an organization's id makes tokens. */
function keepsSecrets({ config, is_terminal }: Start): boolean {
  return config.database_url !== undefined && !is_terminal;
}

function tokenRows({ running, config, profile_file }: Start, token: string): [string, string][] {
  const kept = `kept in ${shortPath(profile_file)}`;
  if (!running.first) return [["Token", kept]];
  const isEmbedded = config.database_url === undefined;
  return [
    ["Token", token],
    ["", isEmbedded ? kept : "shown this once: keep it"],
  ];
}

/** The path that somebody in this folder would type. */
function shortPath(file: string): string {
  const short = relative(process.cwd(), file);
  return short.startsWith("..") ? file : short;
}

function hintsOf({ running, config, is_terminal }: Start): string[] {
  const { base_url, profile } = running;
  const hints: string[] = [];
  const port = Number(new URL(base_url).port);
  if (isEveryAddress(config.host) && base_url === urlAt(config.host, port)) {
    hints.push(
      `It listens on every address of this machine${elsewhere(port)}.`,
      "Set BASE_URL to the address that callers use: links are made with it.",
    );
  }
  if (!is_terminal) return hints;
  if (profile !== undefined) {
    const isEmbedded = config.database_url === undefined;
    const act = isEmbedded ? "npx dues whoami" : `npx dues login --url ${base_url}`;
    hints.push(`Next, in another terminal: ${act}`);
  }
  return [...hints, "Ctrl-C stops it."];
}

/** An address by which other machines may reach it. */
function elsewhere(port: number): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const found = all.find(({ internal, family }) => !internal && family === "IPv4");
  return found === undefined ? "" : `, such as ${urlAt(found.address, port)}`;
}
