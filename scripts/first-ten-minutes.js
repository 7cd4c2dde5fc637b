// Writes docs/first-ten-minutes.md: starts the service on a fresh folder, types the commands of a
// first visit, and keeps what really came out. Run it after `npm run build`. With --check it
// writes nothing and fails when something else came out than the document says.

import { execFile, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const main = join(root, "bin", "dues.js");
const document = join(root, "docs", "first-ten-minutes.md");
const folder = mkdtempSync(join(tmpdir(), "dues-first-"));
// Run by root, PostgreSQL has a user of its own, who must be able to enter.
chmodSync(folder, 0o755);
const env = {
  PATH: process.env.PATH,
  HOME: folder,
  XDG_CONFIG_HOME: join(folder, "config"),
  DUES_DATA: join(folder, ".dues"),
  LOG_LEVEL: "silent",
  PORT: "0",
};

const EVENTS = ["400", "250", "350"]
  .map((calls, i) =>
    JSON.stringify({
      transaction_id: `evt-${i + 1}`,
      subscription_id: "ext:acme-team",
      code: "api_calls",
      timestamp: `2026-01-10T${10 + i}:00:00Z`,
      properties: { calls },
    }),
  )
  .join("\n");

/** Prose, then commands. Each command's output follows it. */
const STORY = [
  [
    "## Look before you change anything",
    "`npm start` runs the service on a database of its own. In a second terminal, in the same folder, the tool needs no flags: it reads the profile that was kept. The example file declares settings, taxes, a catalog, metrics, add-ons, plans, coupons, dunning and a webhook.",
    ["dues whoami", "dues diff service.example.yaml"],
  ],
  [
    "## Apply the file, twice",
    "The second run has nothing to do.",
    ["dues sync service.example.yaml", "dues sync service.example.yaml"],
  ],
  [
    "## A customer subscribes",
    "The project that the start made is a sandbox: its clock can stand still. The plan has a fee that is billed at the start, so there is an invoice at once.",
    [
      "dues clock freeze --at 2026-01-10",
      'dues customers create --external-id acme --name "Acme Ltd" --email billing@acme.test',
      "dues subscriptions create --customer ext:acme --plan team --external-id acme-team --property seats=5",
      "dues invoices list",
    ],
  ],
  [
    "## Usage arrives",
    "Events come in by `POST /v1/events`, or from a file. Importing it again counts nothing twice.",
    [
      "dues events import usage.ndjson",
      "dues events import usage.ndjson",
      "dues usage ext:acme-team",
    ],
  ],
  [
    "## A month passes, and the bill is paid",
    "Everything that falls due on the way happens, in its order.",
    [
      "dues clock advance --to 2026-02-01",
      "dues invoices get INV-2026-0002",
      "dues payments record INV-2026-0002",
      "dues invoices list",
    ],
  ],
  [
    "## Another plan",
    "A preview shows what a change would bill: the period that it ends, then the new one.",
    [
      "dues invoices preview ext:acme-team --plan business --at period_end",
      "dues subscriptions change ext:acme-team --plan business --at period_end",
    ],
  ],
];

/** Ids, secrets and folders differ from run to run; the document should not. */
function settled(text) {
  const ids = new Map();
  return text
    .replaceAll(folder, ".")
    .replace(/http:\/\/127\.0\.0\.1:\d+/g, "http://127.0.0.1:8080")
    .replace(/whsec_[\w+/=]+/g, "whsec_…")
    .replace(/dues_\w{8}…/g, "dues_a1B2c3D4…")
    .replace(/cust_\w{4}/g, "cust_7f3k")
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
      if (!ids.has(id))
        ids.set(id, `00000000-0000-7000-8000-${String(ids.size + 1).padStart(12, "0")}`);
      return ids.get(id);
    });
}

function run(line) {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain);
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [main, ...words.slice(1)],
      { cwd: folder, env },
      (error, out, err) => {
        const code = error?.code ?? 0;
        if (code !== 0 && code !== 2) reject(new Error(`${line}: ${err}`));
        else resolve(`$ ${line}\n${err}${out}`.trimEnd());
      },
    );
  });
}

async function started(service) {
  for (let waited = 0; waited < 120; waited++) {
    if (service.ready) return;
    await delay(500);
  }
  throw new Error("The service did not start in a minute.");
}

const server = spawn(process.execPath, [main, "serve"], { cwd: folder, env });
const service = { ready: false };
server.stdout.setEncoding("utf8").on("data", (text) => {
  service.ready ||= text.includes("dues is ready");
});
server.stderr.pipe(process.stderr);
try {
  await started(service);
  const example = readFileSync(join(root, "service.example.yaml"), "utf8");
  writeFileSync(join(folder, "service.example.yaml"), example);
  writeFileSync(join(folder, "usage.ndjson"), `${EVENTS}\n`);
  const parts = [
    "# The first ten minutes",
    "Written by `node scripts/first-ten-minutes.js`, which types these commands and keeps what comes out. Ids and secrets are replaced. `dues` is `npx dues` in a checkout.",
  ];
  for (const [title, words, lines] of STORY) {
    parts.push(title, words);
    for (const line of lines) parts.push(`\`\`\`console\n${await run(line)}\n\`\`\``);
  }
  const text = `${settled(parts.join("\n\n"))}\n`;
  if (!process.argv.includes("--check")) writeFileSync(document, text);
  else if (readFileSync(document, "utf8") !== text) {
    process.stderr.write(`docs/first-ten-minutes.md is not what comes out:\n\n${text}`);
    process.exitCode = 1;
  }
} finally {
  server.kill("SIGTERM");
  await new Promise((resolve) => server.once("close", resolve));
  rmSync(folder, { recursive: true, force: true });
}
