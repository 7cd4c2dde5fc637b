// Bundles the service: its source and the packages that it loads, as a few files in one folder that
// Node reads in half the time. Prints the names of the files. Run by scripts/run.js, which installs
// the bundler: here alone, or with everything else that developers need.
//
//   node scripts/bundle/bundle.js dist
//   node scripts/bundle/bundle.js dist-bench bench/run.ts …     with further entries

import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { leaveOut } from "./leave-out.js";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** What is started by its path: src/built.ts says where. */
const ENTRIES = {
  dues: "src/cli/main.ts",
  "workers-thread": "src/workers/thread.ts",
  "pdf-thread": "src/pages/invoice/pdf/thread.ts",
  "copy-handle": "src/http/admission/copy-handle.ts",
};

/** Packages that read files beside their own, or may be missing, stay where they are. */
const APART = ["bidi-js", "fontkit", "pdfkit", "wawoff2", "pg-native"];
const IN_PACKAGES = /[\\/]node_modules[\\/]/;
const PACKAGE = /^.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/;

/**
 * In packages a stack trace names the file and its first line: the maps, which a start reads, are
 * half as large. Without a mapping the frame would be shown in the file of ours before it.
 */
const packagesByFile = {
  name: "packages-by-file",
  transform: {
    filter: { id: IN_PACKAGES },
    handler: (code, id) => ({
      code,
      map: { version: 3, sources: [id], names: [], mappings: "AAAA" },
    }),
  },
};

const [folder, ...more] = process.argv.slice(2);
const entries = more.map((path) => [basename(path, ".ts"), path]);

const bundle = await rolldown({
  cwd: root,
  input: { ...ENTRIES, ...Object.fromEntries(entries) },
  platform: "node",
  tsconfig: false,
  transform: { target: "node20.15" },
  external: APART,
  // Benches use more of undici than the service does.
  plugins: [more.length === 0 && leaveOut, packagesByFile],
  onLog(level, log) {
    if (level === "warn") throw new Error(log.message);
  },
});
const { output } = await bundle.write({
  dir: folder,
  entryFileNames: "[name].js",
  chunkFileNames: "[name]-[hash].js",
  banner: ({ moduleIds }) => {
    const names = new Set(packagesIn(moduleIds).map((folder) => PACKAGE.exec(folder)[1]));
    return names.size === 0 ? "" : `// Holds ${[...names].join(", ")}: see NOTICES.txt.`;
  },
  sourcemap: true,
  sourcemapExcludeSources: true,
});
await bundle.close();

/** Migrations, and the company of the demo. */
const data = readdirSync(join(root, "src"), { recursive: true }).filter((name) =>
  /\.(sql|yaml)$/.test(name),
);
// One that was taken back would be applied.
rmSync(resolve(root, folder, "store"), { recursive: true, force: true });
for (const name of data) cpSync(join(root, "src", name), resolve(root, folder, name));
writeFileSync(resolve(root, folder, "NOTICES.txt"), notices());
console.log([...output.map(({ fileName }) => fileName), ...data, "NOTICES.txt"].join("\n"));

/** Licences ask that they come along with the code. */
function notices() {
  const modules = output.flatMap((each) => (each.type === "chunk" ? each.moduleIds : []));
  return packagesIn(modules)
    .map(notice)
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** The folders of the packages that these modules are of. */
function packagesIn(modules) {
  return [...new Set(modules.flatMap((id) => PACKAGE.exec(id)?.[0] ?? []))].sort();
}

function notice(of) {
  const { name, version, license } = JSON.parse(readFileSync(join(of, "package.json"), "utf8"));
  const files = readdirSync(of).filter((each) => /^(licen[cs]e|notice)/i.test(each));
  const texts = files.map((each) => readFileSync(join(of, each), "utf8").trim());
  return [`${name} ${version} (${license})`, ...texts].join("\n\n").concat("\n");
}
