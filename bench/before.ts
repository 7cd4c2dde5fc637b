// A version before this one, built beside it: what something cost then is measured against what it
// costs now, in one run.

import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The last commit before pricing that was measured, and its schema. */
export const BEFORE_PRICING = { commit: "0478e1f", schema: 15 };
/** The same before money. */
export const BEFORE_MONEY = { commit: "5358403", schema: 16 };

/** Built code runs from dist-bench/bench. */
const ROOT = join(import.meta.dirname, "..", "..");

export type Before = {
  /** Where its built service.js is. */
  readonly folder: string;
  remove(): void;
};

/** Its tree is taken from this repository's history, its packages are this version's. */
export function buildBefore(commit: string): Before {
  const home = mkdtempSync(join(tmpdir(), "dues-before-"));
  const tree = join(home, "tree");
  const git = (...words: string[]) => execFileSync("git", words, { cwd: ROOT, stdio: "pipe" });
  const remove = () => {
    git("worktree", "remove", "--force", tree);
    rmSync(home, { recursive: true, force: true });
  };
  git("worktree", "add", "--detach", tree, commit);
  try {
    symlinkSync(join(ROOT, "node_modules"), join(tree, "node_modules"));
    const tsc = join(ROOT, "node_modules", ".bin", "tsc");
    execFileSync(tsc, ["-p", "tsconfig.bench.json"], { cwd: tree, stdio: "inherit" });
    const built = join(tree, "dist-bench");
    const migrations = join("src", "store", "migrations");
    cpSync(join(tree, migrations), join(built, migrations), { recursive: true });
    copyFileSync(join(tree, "package.json"), join(built, "package.json"));
    return { folder: join(built, "bench"), remove };
  } catch (error) {
    remove();
    throw error;
  }
}
