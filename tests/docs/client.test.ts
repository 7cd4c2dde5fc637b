// The examples of docs/CLIENT.md: all compile in a strict project against the packed client, and
// all run, the first ones against the service and the receivers with signed deliveries.

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { wallMs } from "../../src/clock.ts";
import { sign, standardSignature } from "../../src/domain/webhooks.ts";
import { type Shell, sharedShell } from "../cli/support.ts";
import { ClientProject } from "../support/packed-client.ts";
import { until } from "../support/processes.ts";

const GUIDE = readFileSync(new URL("../../docs/CLIENT.md", import.meta.url), "utf8");
const SECRET = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
/** Express has its types in a package that we have no use for: what the example needs of them. */
const EXPRESS = `declare module "express" {
  type Request = { readonly body: Buffer; readonly headers: NodeJS.Dict<string | string[]> };
  type Response = { sendStatus(n: number): void; status(n: number): { send(text: string): void } };
  type Run = (request: Request, response: Response) => Promise<void>;
  type App = { post(path: string, parser: object, run: Run): void; listen(port: number): void };
  function express(): App;
  namespace express {
    function raw(options: { type: string; limit: string }): object;
  }
  export default express;
}
`;

let project: ClientProject;
let shell: Shell;
const children: ChildProcess[] = [];

/** Each example names its file in its first line. */
const examples = [...GUIDE.matchAll(/^```[tj]s\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map(
  ([, name = "", text = ""]) => ({ name, text }),
);

beforeAll(async () => {
  project = new ClientProject({ type: "module" });
  for (const name of ["express", "fastify", "@types/node", "undici-types"]) project.link(name);
  for (const { name, text } of examples) project.write(name, text);
  project.write("express.d.ts", EXPRESS);
  shell = await sharedShell({ at: "2026-01-01T00:00:00.000Z" });
});
afterAll(async () => {
  for (const child of children) child.kill();
  project.close();
  await shell.close();
});

test("every example is read, and compiles", () => {
  const blocks = GUIDE.match(/^```[tj]s$/gm) ?? [];
  expect(examples).toHaveLength(blocks.length);
  const files = examples.map(({ name }) => name).filter((name) => name.endsWith(".ts"));
  const options = { module: "nodenext", types: ["node"], skipLibCheck: true };
  expect(project.compile([...files, "express.d.ts"], options)).toBe("");
});

test("the calls do what the guide says", async () => {
  const run = async (name: string) => (await project.run(name, shell.env)).trim().split("\n");
  expect(await run("first-invoice.js")).toEqual(["INV-2026-0001 4900 USD"]);
  const usage = await run("usage.js");
  expect(usage[0]).toBe("1 accepted, 0 known already");
  expect(usage[1]).toMatch(/^1 \w+ .+/);
  expect((await run("usage.js"))[0]).toBe("0 accepted, 1 known already");
  expect(await run("paging.js")).toEqual(["INV-2026-0001 4900", "1 false null"]);
  const [id, refused, field] = await run("errors.js");
  expect(id).toBe("36");
  expect(refused).toBe("422 validation_error false 36");
  expect(field).toMatch(/^external_id .+/);
  const [number] = await run("idempotency.js");
  expect(await run("idempotency.js")).toEqual([number]);
  expect(await run("common.cjs")).toEqual(["1"]);
});

test.each(["express", "fastify"])(
  "the receiver in %s takes what is signed",
  async (name) => {
    const port = await freePort();
    const env = { ...process.env, PORT: String(port), DUES_WEBHOOK_SECRET: SECRET };
    const child = spawn(process.execPath, [join(project.folder, `${name}.js`)], { env });
    children.push(child);
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
    const url = `http://localhost:${port}/webhooks/dues`;
    await until(
      () =>
        fetch(url).then(
          () => true,
          () => false,
        ),
      20_000,
    );
    const send = (body: string, delivery = signed(body)) =>
      fetch(url, { method: "POST", body, headers: delivery });
    expect((await send(PAID)).status).toBe(204);
    expect((await send(`${PAID} `, signed(PAID))).status).toBe(400);
    expect((await send(PAID, { "content-type": "application/json" })).status).toBe(400);
    expect(said.trim()).toBe("paid");
    child.kill();
  },
  40_000,
);

test("so do the route of Next.js and the Worker", async () => {
  project.write(
    "play.mjs",
    `import { POST } from "./app/webhooks/dues/route.js";
    import worker from "./worker.js";
    const { body, headers } = JSON.parse(process.env.DELIVERY);
    const request = (text) => new Request("http://x/", { method: "POST", body: text, headers });
    for (const text of [body, body + " "]) {
      console.log((await POST(request(text))).status);
      console.log((await worker.fetch(request(text), process.env)).status);
    }`,
  );
  const delivery = JSON.stringify({ body: PAID, headers: signed(PAID) });
  const said = await project.run("play.mjs", { DUES_WEBHOOK_SECRET: SECRET, DELIVERY: delivery });
  expect(said.trim().split("\n")).toEqual(["paid", "204", "paid", "204", "400", "400"]);
});

const PAID = JSON.stringify({
  event: "payment.succeeded",
  created_at: "2026-02-01T00:00:00.000Z",
  data: { payment: { amount_cents: 4900, currency: "USD" } },
});

/** The headers of a delivery of this body, now. */
function signed(body: string): Record<string, string> {
  const message = { id: "m1", timestamp_s: Math.floor(wallMs() / 1000), body };
  return {
    "content-type": "application/json; charset=utf-8",
    "x-service-signature": sign(SECRET, body),
    "webhook-id": message.id,
    "webhook-timestamp": String(message.timestamp_s),
    "webhook-signature": standardSignature([SECRET], message),
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}
