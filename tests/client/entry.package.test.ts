// dues-client as it is packed: small, alone, for both kinds of modules and for runtimes that are
// not Node.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { standardSignature } from "../../src/domain/webhooks.ts";
import { ClientProject } from "../support/packed-client.ts";

const SIZE_MAX = 150 * 1024;
const SECRET = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;

const USE = `import { Dues, DuesError, verifyWebhook } from "dues-client";
import type { Invoice, InvoiceWithFees } from "dues-client/types";

export async function use(dues: Dues): Promise<number> {
  const invoice: InvoiceWithFees = (await dues.getInvoice("1")).invoice;
  const plain: Invoice = invoice;
  for await (const plan of dues.plans.all({ archived: "1" })) console.log(plan.code);
  try {
    await dues.getPlan("1");
  } catch (error) {
    if (error instanceof DuesError && error.code === "not_found") return 0;
  }
  const event = await verifyWebhook("", {}, "x");
  if (event.event === "invoice.created") console.log(event.data);
  return plain.total_cents;
}
`;

let project: ClientProject;
beforeAll(() => {
  project = new ClientProject();
});
afterAll(() => project.close());

test("the tarball holds code and types, and nothing that they do not need", () => {
  const listed = execFileSync("tar", ["-tzf", project.tarball], { encoding: "utf8" });
  const others = listed
    .split("\n")
    .filter((name) => !/^package\/(esm|cjs)\/.*\.(js|d\.ts)$/.test(name));
  expect(others.filter((name) => name !== "").sort()).toEqual([
    "package/LICENSE",
    "package/README.md",
    "package/WEBHOOKS.md",
    "package/cjs/package.json",
    "package/package.json",
  ]);
  expect(readFileSync(project.tarball).length).toBeLessThan(SIZE_MAX);
  expect(listed).toContain("package/esm/client/entry.js");
  const code = readFileSync(join(project.client, "esm", "client", "webhooks.js"), "utf8");
  expect(code).not.toContain("sourceMappingURL");
});

test("it depends on nothing, and has the version of the service", () => {
  const manifest = JSON.parse(readFileSync(join(project.client, "package.json"), "utf8"));
  const service = JSON.parse(readFileSync("package.json", "utf8"));
  expect(manifest.version).toBe(service.version);
  expect(Object.keys(manifest).filter((key) => /dependencies|scripts/i.test(key))).toEqual([]);
});

test.each([
  ["an ES module", "use.mts", { module: "nodenext" }],
  ["CommonJS by node16", "use.cts", { module: "node16" }],
  ["CommonJS as compilers made it first", "use.ts", { module: "commonjs" }],
  ["a bundler", "use.ts", { module: "esnext", moduleResolution: "bundler" }],
])("its types are found in %s", (_, file, options) => {
  project.write(file, USE);
  expect(project.compile([file], { ...options, noEmit: true })).toBe("");
});

test("a field, an event or an error code that there is not is refused", () => {
  const wrong = USE.replace("plain.total_cents", "plain.total")
    .replace('"not_found"', '"not_fond"')
    .replace('"invoice.created"', '"invoice.made"');
  project.write("wrong.mts", wrong);
  const said = project.compile(["wrong.mts"], { module: "nodenext", noEmit: true });
  expect(said.match(/TS\d+/g)?.sort()).toEqual(["TS2339", "TS2339", "TS2367", "TS2367"]);
});

test("what moduleResolution node10 reads, which knows no exports, is there", () => {
  const manifest = JSON.parse(readFileSync(join(project.client, "package.json"), "utf8"));
  const named = [manifest.main, manifest.types, manifest.typesVersions["*"].types[0]];
  for (const path of named) expect(existsSync(join(project.client, path))).toBe(true);
});

test("both kinds of modules load in Node", async () => {
  const print = "console.log(typeof Dues, typeof verifyWebhook, new DuesError({}).name);";
  const names = "{ Dues, DuesError, verifyWebhook }";
  project.write("use.cjs", `const ${names} = require("dues-client");\n${print}`);
  project.write("use.mjs", `import ${names} from "dues-client";\n${print}`);
  expect(await project.run("use.cjs")).toBe("function function DuesError\n");
  expect(await project.run("use.mjs")).toBe("function function DuesError\n");
});

test("it calls and verifies where there is no Node: only what every fetch runtime has", async () => {
  const asked: Request[] = [];
  const fetch = async (url: string, init: RequestInit) => {
    asked.push(new Request(url, init));
    return Response.json({ plans: [{ code: "pro" }], has_more: false });
  };
  const { Dues, verifyWebhook } = loadAtTheEdge({ fetch });
  const dues = new Dues({ base_url: "https://dues.example", token: "t", project_id: "p" });
  expect((await dues.listPlans()).plans[0]?.code).toBe("pro");
  expect(asked[0]?.headers.get("authorization")).toBe("Bearer t");
  const created_at = new Date().toISOString();
  const body = JSON.stringify({ event: "webhook.test", created_at, data: {} });
  const message = { id: "m", timestamp_s: Math.floor(Date.parse(created_at) / 1000), body };
  const headers = new Headers({
    "webhook-id": "m",
    "webhook-timestamp": String(message.timestamp_s),
    "webhook-signature": standardSignature([SECRET], message),
  });
  expect((await verifyWebhook(body, headers, SECRET)).event).toBe("webhook.test");
  await expect(verifyWebhook(`${body} `, headers, SECRET)).rejects.toThrow(/signature/);
});

type Client = typeof import("../../src/client/entry.ts");

/** Runs the package in a realm of its own, without process, Buffer and modules of Node. */
function loadAtTheEdge(given: object): Client {
  const { Headers, Response, URLSearchParams, AbortSignal, crypto, performance } = globalThis;
  const { TextEncoder, TextDecoder, atob, setTimeout, clearTimeout } = globalThis;
  const realm = createContext({
    Headers,
    Response,
    URLSearchParams,
    AbortSignal,
    crypto,
    performance,
    TextEncoder,
    TextDecoder,
    atob,
    setTimeout,
    clearTimeout,
    ...given,
  });
  const loaded = new Map<string, object>();
  const load = (path: string): object => {
    const known = loaded.get(path);
    if (known !== undefined) return known;
    const exports = {};
    loaded.set(path, exports);
    const text = readFileSync(path, "utf8");
    const run = runInContext(`(function (exports, require) {${text}\n})`, realm);
    run(exports, (name: string) => {
      if (!name.startsWith(".")) throw new Error(`${name} is not there at the edge.`);
      return load(join(path, "..", name));
    });
    return exports;
  };
  return load(join(project.client, "cjs", "client", "entry.js")) as Client;
}
