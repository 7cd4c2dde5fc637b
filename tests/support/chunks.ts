// The files of the build by what is in them: which file of the source, which packages, and what is
// loaded with each.

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { BUILT } from "./built.ts";

export type Chunk = {
  readonly name: string;
  /** Files of the source, such as src/log.ts. */
  readonly sources: readonly string[];
  readonly packages: readonly string[];
  /** What is loaded before it; not what it loads on demand. */
  readonly imports: readonly string[];
};

const STATIC_IMPORT = /^(?:import|export)\b[^"'`;]*?(?:from )?"\.\/([^"]+)"/gm;

/** Those of the present build: some of the one before are there too. */
export function readChunks(): Chunk[] {
  const [, ...files] = readFileSync(join(BUILT, ".dues-build"), "utf8").trim().split("\n");
  return files
    .filter((name) => name.endsWith(".js"))
    .map((name) => {
      const text = readFileSync(join(BUILT, name), "utf8");
      const [, packages = ""] = /^\/\/ Holds (.*): see NOTICES\.txt\.$/m.exec(text) ?? [];
      return {
        name,
        sources: files.includes(`${name}.map`) ? sourcesOf(name) : [],
        packages: packages === "" ? [] : packages.split(", "),
        imports: [...text.matchAll(STATIC_IMPORT)].map(([, from = ""]) => basename(from)),
      };
    });
}

function sourcesOf(name: string): string[] {
  const map = JSON.parse(readFileSync(join(BUILT, `${name}.map`), "utf8"));
  return (map.sources as string[]).map((each) => each.replace(/^(\.\.\/)+/, ""));
}

/** The chunk with a file of the source, and all that is loaded with it. */
export function loadedWith(source: string, chunks = readChunks()) {
  const loaded = new Set<Chunk>();
  const load = (chunk: Chunk | undefined) => {
    if (chunk === undefined || loaded.has(chunk)) return;
    loaded.add(chunk);
    for (const name of chunk.imports) load(chunks.find((each) => each.name === name));
  };
  const first = chunks.find(({ sources }) => sources.includes(source));
  if (first === undefined) throw new Error(`No file of dist/ holds ${source}.`);
  load(first);
  return {
    sources: [...loaded].flatMap(({ sources }) => sources).sort(),
    packages: [...loaded].flatMap(({ packages }) => packages).sort(),
  };
}
