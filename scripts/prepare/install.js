// Installs the packages that are missing: what running needs, or everything. Where only what tests
// need is missing it is added, so that a service that runs meanwhile keeps what it may load yet.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { at, capture, Failure, readJson, readText, root } from "./base.js";
import { locked } from "./lock.js";
import { telling } from "./tell.js";

const LOCK_FILE = at("package-lock.json");
const STAMP = at("node_modules", ".dues-install");
const BUNDLER_FOLDER = at("scripts", "bundle");

/** No package needs its install script, so none may run one (docs/decisions/0007). */
const CI = ["ci", "--ignore-scripts", "--include=optional"];
/** Adds what is missing, by the lock file, and changes neither that nor package.json. */
const ADD = ["install", "--ignore-scripts", "--include=optional", "--no-save"];

/** What may be installed. Development packages are named whatever NODE_ENV says. */
const EXTENTS = { running: ["--omit=dev"], everything: ["--include=dev"] };

/** `extent`: "running" is enough for the service, "everything" for tests and checks too. */
export async function install(extent) {
  if (isInstalled(extent)) return;
  await locked(async () => {
    if (isInstalled(extent)) return;
    // Whoever had everything is a developer, and will want it again.
    const wanted = readText(STAMP)?.includes("everything") ? "everything" : extent;
    const verb = holdsLocked("running") ? ADD : CI;
    rmSync(STAMP, { force: true });
    const names = missingOf(wanted);
    const what = `Installing ${names.length} packages`;
    const count = () => {
      const there = names.filter((path) => existsSync(at(path, "package.json"))).length;
      return there === 0 ? "" : `${there} there`;
    };
    await telling(what, () => npm([...verb, ...EXTENTS[wanted]], root), count);
    writeFileSync(STAMP, markOf(wanted));
  });
}

/** The bundler comes with everything; for running alone it is installed beside its script. */
export async function installBundler() {
  if (hasBundler()) return;
  await telling("Installing the bundler", () => npm(CI, BUNDLER_FOLDER));
}

function hasBundler() {
  const { rolldown } = readJson(`${BUNDLER_FOLDER}/package.json`).dependencies;
  try {
    const found = createRequire(`${BUNDLER_FOLDER}/bundle.js`).resolve("rolldown/package.json");
    return readJson(found).version === rolldown;
  } catch {
    return false;
  }
}

async function npm(args, folder) {
  const [command, ...first] = process.env.npm_execpath?.endsWith("npm-cli.js")
    ? [process.execPath, process.env.npm_execpath]
    : ["npm"];
  const words = [...first, ...args, "--no-audit", "--no-fund"];
  const { code, output } = await capture(command, words, folder);
  if (code === 0) return;
  process.stderr.write(output);
  throw new Failure(
    "The packages could not be installed. Check the network and what " +
      '"npm config get registry" says, then try again.',
  );
}

/** The same lock file on another platform needs other packages. */
function markOf(extent) {
  const lock = createHash("sha256").update(readFileSync(LOCK_FILE)).digest("hex");
  return `${lock} ${process.platform} ${process.arch} ${extent}\n`;
}

function isInstalled(extent) {
  const enough = extent === "running" ? ["everything", "running"] : ["everything"];
  const stamp = readText(STAMP);
  if (enough.some((each) => markOf(each) === stamp)) return true;
  // Someone may have run npm ci by hand.
  const held = enough.find(holdsLocked);
  if (held === undefined) return false;
  try {
    writeFileSync(STAMP, markOf(held));
  } catch {
    // A read-only node_modules is compared again at the next run.
  }
  return true;
}

function holdsLocked(extent) {
  return missingOf(extent).length === 0;
}

/** Paths of the packages that are not there. npm notes what it installed in a lock file. */
function missingOf(extent) {
  const present = readJson(at("node_modules", ".package-lock.json"))?.packages ?? {};
  const wanted = Object.entries(readJson(LOCK_FILE).packages).filter(
    ([path, { dev }]) => path !== "" && (extent === "everything" || dev !== true),
  );
  return wanted.flatMap(([path, entry]) => {
    if (present[path]?.version === entry.version) return [];
    return entry.optional === true && !isForThisMachine(entry) ? [] : [path];
  });
}

function isForThisMachine({ os, cpu, libc }) {
  // Which C library runs here is npm's business; a package bound to one may rightly be absent.
  if (os === undefined || cpu === undefined || libc !== undefined) return false;
  return os.includes(process.platform) && cpu.includes(process.arch);
}
