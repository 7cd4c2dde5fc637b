// What tests run as processes of their own: the command as it was built, and single files of the
// source, which Node does not run by itself.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Where it was built. */
export const BUILT = join(ROOT, "dist");

/** The entry of the command. */
export const MAIN = join(BUILT, "dues.js");

export type BuiltFile = { readonly folder: string; readonly url: string; remove(): void };

/** A file of the source, built with what it imports as it is now: dist/ may be older. */
export async function buildFile(path: string): Promise<BuiltFile> {
  mkdirSync(BUILT, { recursive: true });
  // In there, packages are found.
  const folder = mkdtempSync(join(BUILT, ".test-"));
  await build({
    root: ROOT,
    configFile: false,
    logLevel: "silent",
    build: { ssr: path, outDir: folder, target: "node20", minify: false },
  });
  const url = pathToFileURL(join(folder, `${basename(path, ".ts")}.js`)).href;
  return { folder, url, remove: () => rmSync(folder, { recursive: true }) };
}
