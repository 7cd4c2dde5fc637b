// Builds src/client as a package of its own, dues-client, and packs it: `npm run pack:client`.
// Plain JavaScript, because Node runs it as it is. Takes the folder to build in, which is emptied
// first, and the folder for the tarball; prints the tarball's path.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { orFail, prepare } from "../run.js";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const [folder = join(root, "dist-client"), destination = root] = process.argv.slice(2);

/** ES modules as tsconfig.client.json says, and the same as CommonJS. */
const BUILDS = {
  esm: [],
  cjs: ["--module", "commonjs", "--moduleResolution", "bundler", "--verbatimModuleSyntax", "false"],
};

await orFail(prepare);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, options] of Object.entries(BUILDS)) build(join(folder, name), options);
writeJson(join(folder, "cjs", "package.json"), { type: "commonjs" });
writeJson(join(folder, "package.json"), manifest());
copyFileSync(join(root, "docs", "CLIENT.md"), join(folder, "README.md"));
// The guide links to it by this name.
copyFileSync(join(root, "docs", "WEBHOOKS.md"), join(folder, "WEBHOOKS.md"));
copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
console.log(join(destination, pack()));

function build(target, options) {
  const args = ["-p", join(root, "tsconfig.client.json"), "--outDir", target, ...options];
  execFileSync(join(root, "node_modules", ".bin", "tsc"), args, { cwd: root, stdio: "inherit" });
  // The compiler leaves the endings of our sources in declarations; older ones do not take them.
  for (const path of readdirSync(target, { recursive: true })) {
    if (!path.endsWith(".d.ts")) continue;
    const text = readFileSync(join(target, path), "utf8");
    writeFileSync(join(target, path), text.replace(/(from ")(\.[^"]+)\.ts"/g, '$1$2.js"'));
  }
}

function pack() {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", destination];
  const stdio = ["ignore", "pipe", "ignore"];
  const [{ filename }] = JSON.parse(execFileSync("npm", args, { cwd: folder, stdio }).toString());
  return filename;
}

function manifest() {
  const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return {
    name: "dues-client",
    version,
    description: "The client of dues: typed calls, retries, paging and verified webhooks.",
    keywords: ["billing", "subscriptions", "usage", "invoices", "webhooks"],
    license,
    type: "module",
    sideEffects: false,
    engines: { node: ">=20" },
    // For tools that do not read `exports`.
    main: "./cjs/client/entry.js",
    module: "./esm/client/entry.js",
    types: "./cjs/client/entry.d.ts",
    typesVersions: { "*": { types: ["./cjs/client/types.d.ts"] } },
    exports: {
      ".": entries("entry"),
      "./types": entries("types"),
      "./package.json": "./package.json",
    },
    files: ["esm", "cjs", "WEBHOOKS.md"],
  };
}

function entries(name) {
  const of = (format) => ({
    types: `./${format}/client/${name}.d.ts`,
    default: `./${format}/client/${name}.js`,
  });
  return { import: of("esm"), require: of("cjs") };
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
