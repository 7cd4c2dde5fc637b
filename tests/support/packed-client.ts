// dues-client as npm would publish it, unpacked in the node_modules of an empty project.

import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What a strict project asks of the types it uses. */
const STRICT = {
  strict: true,
  skipLibCheck: false,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  target: "es2022",
  lib: ["es2022", "dom"],
};

export class ClientProject {
  readonly folder = mkdtempSync(join(tmpdir(), "dues-client-"));
  readonly client = join(this.folder, "node_modules", "dues-client");
  readonly tarball: string;

  constructor(manifest: object = {}) {
    const args = [join(this.folder, "build"), this.folder];
    const script = join(ROOT, "scripts", "client", "pack.js");
    this.tarball = execFileSync(process.execPath, [script, ...args], { encoding: "utf8" }).trim();
    mkdirSync(this.client, { recursive: true });
    const into = ["-C", this.client, "--strip-components", "1"];
    execFileSync("tar", ["-xzf", this.tarball, ...into]);
    this.write("package.json", JSON.stringify(manifest));
  }

  /** Takes a package of this checkout into the project. */
  link(name: string): void {
    const path = join(this.folder, "node_modules", name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), path);
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** Returns what the compiler has to say: nothing, when all is well. */
  compile(files: readonly string[], options: object, tsc = join(ROOT, "node_modules/.bin/tsc")) {
    const compilerOptions = { ...STRICT, types: [], ...options };
    this.write("tsconfig.json", JSON.stringify({ compilerOptions, files }));
    try {
      return execFileSync(tsc, ["-p", "."], { cwd: this.folder, encoding: "utf8" });
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  }

  /** Runs a file of the project, and returns what it prints. */
  async run(file: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
    const options = { cwd: this.folder, env: { ...process.env, ...env } };
    const { stdout } = await promisify(execFile)(process.execPath, [file], options);
    return stdout;
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
