// Makes dist/ current: the service as a few files, and what it reads by path.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { at, capture, Failure, filesUnder, readText, root } from "./base.js";
import { installBundler } from "./install.js";
import { locked } from "./lock.js";
import { telling } from "./tell.js";

/** The mark of what was built, and below it the files that were made. */
const STAMP = at("dist", ".dues-build");
const BUNDLE = ["scripts", "bundle"];
const CHUNK = /-[\w-]{8}\.js(\.map)?$/;

export async function build() {
  if (isBuilt()) return;
  await locked(async () => {
    if (isBuilt()) return;
    await installBundler();
    const mark = markOf();
    const { files: former } = readStamp();
    if (former.length === 0) dropAll();
    rmSync(at("dist", ".compiled"), { recursive: true, force: true });
    // Of no build until this one has succeeded: a broken one is never taken for good.
    writeStamp("none", former);
    const files = await telling("Building", () => bundle("dist"));
    dropOlder([...files, ...former]);
    writeStamp(mark, files);
  });
}

/** Returns the names of the files made. */
export async function bundle(folder, entries = []) {
  const args = [at(...BUNDLE, "bundle.js"), folder, ...entries];
  const { code, output } = await capture(process.execPath, args);
  if (code === 0) return output.trim().split("\n");
  process.stderr.write(output);
  throw new Failure("The build failed: see the faults above.");
}

function isBuilt() {
  const { mark, files } = readStamp();
  return mark === markOf() && files.every((name) => existsSync(at("dist", name)));
}

function readStamp() {
  const [mark, ...files] = readText(STAMP)?.trim().split("\n") ?? [];
  return { mark, files };
}

function writeStamp(mark, files) {
  writeFileSync(STAMP, `${[mark, ...files].join("\n")}\n`);
}

/** Contents, not times: a clone, a copy and a branch switch give what they should. */
function markOf() {
  const hash = createHash("sha256");
  const makers = ["bundle.js", "leave-out.js", "package-lock.json"].map((name) =>
    at(...BUNDLE, name),
  );
  for (const path of [at("package-lock.json"), ...makers, ...filesUnder(at("src"))]) {
    const body = readFileSync(path);
    hash.update(`${relative(root, path)} ${body.length}\n`).update(body);
  }
  return hash.digest("hex");
}

/** The files of the build before stay for once: a service that runs may load one of them yet. */
function dropOlder(kept) {
  for (const name of readdirSync(at("dist"))) {
    if (CHUNK.test(name) && !kept.includes(name)) rmSync(at("dist", name));
  }
}

/** What was built in another way, or by hand. */
function dropAll() {
  mkdirSync(at("dist"), { recursive: true });
  for (const name of readdirSync(at("dist"))) {
    if (!name.startsWith(".")) rmSync(at("dist", name), { recursive: true });
  }
}
