// Nothing inside is ever connected to: canaries on loopback, private and link-local addresses, and
// names that point, or begin to point, at them.

import { execFileSync, spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { WebhookClient } from "../../src/workers/webhook-client.ts";
import { buildFile } from "../support/built.ts";

const ADDRESSES = [
  "10.1.2.3/32",
  "192.168.7.7/32",
  "169.254.169.254/32",
  "100.64.0.9/32",
  "8.8.8.8/32",
  "fd00::7/128",
];
const SET_UP = [
  "ip link set lo up",
  ...ADDRESSES.map((address) => `ip addr add ${address} dev lo`),
].join(" && ");

/** A namespace needs a privilege that not every machine gives. */
function canUnshare(): boolean {
  return spawnSync("unshare", ["-n", "sh", "-c", SET_UP]).status === 0;
}

async function canary() {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { port, count: () => connections, close: () => server.close() };
}

const STRICT = { allow_private: false, allow_loopback: false };
const post = (url: string) => ({ url, body: "{}", headers: {} });

describe("a name that leads to this machine", () => {
  test.each([
    { name: "from the first", answers: [["127.0.0.1"]] },
    { name: "among public addresses", answers: [["93.184.216.34", "127.0.0.1"]] },
    { name: "as a mapped address", answers: [["::ffff:127.0.0.1"]] },
    { name: "with no address at all", answers: [[]] },
  ])("$name is not connected to", async ({ answers }) => {
    const watched = await canary();
    let asked = 0;
    const client = new WebhookClient(STRICT, async () => answers[asked++] ?? []);
    const { error } = await client.send(post(`https://example.com:${watched.port}/`));
    expect(error).toBe("blocked_address");
    expect(asked).toBe(1);
    expect(watched.count()).toBe(0);
    await client.close();
    watched.close();
  });

  test("is asked for once a connection: what was checked is what is connected to", async () => {
    const watched = await canary();
    const names: string[] = [];
    const client = new WebhookClient(
      { allow_private: true, allow_loopback: true },
      async (name) => {
        names.push(name);
        return ["127.0.0.1"];
      },
    );
    const { error } = await client.send(post(`http://example.com:${watched.port}/`));
    expect(error).toBe("connection");
    expect(names).toEqual(["example.com"]);
    expect(watched.count()).toBe(1);
    await client.close();
    watched.close();
  });

  test("whose server does not answer is a failure of the name", async () => {
    const client = new WebhookClient(STRICT, () => Promise.reject(new Error("queryA ETIMEOUT")));
    expect(await client.send(post("https://example.com/"))).toMatchObject({ error: "dns" });
    await client.close();
  });
});

describe.skipIf(!canUnshare())("in a network of its own (needs unshare -n and ip)", () => {
  test("no canary is reached by address, by name or by rebinding", async () => {
    const built = await buildFile("src/workers/webhook-client.ts");
    const script = join(import.meta.dirname, "canary.mjs");
    const command = `${SET_UP} && exec "$@"`;
    const words = ["-n", "sh", "-c", command, "sh", process.execPath, script, built.url];
    const printed = execFileSync("unshare", words, { timeout: 25_000 });
    built.remove();
    const { verdicts, inside, control, reached } = JSON.parse(printed.toString());
    const { "8.8.8.8": outside, ...canaries } = inside;
    expect(Object.values(canaries)).toEqual(Object.values(canaries).map(() => 0));
    expect(Object.keys(canaries)).toHaveLength(7);
    const open = ["public.example.com", "rebinding.example.com"];
    for (const [host, verdict] of Object.entries(verdicts)) {
      if (open.includes(host)) expect([host, verdict]).toEqual([host, "tls"]);
      else if (host === "unknown.example.com") expect(verdict).toBe("dns");
      else expect([host, verdict]).toEqual([host, "blocked_address"]);
    }
    expect(outside).toBe(open.length);
    expect(control).toBe("http_204");
    expect(reached["10.1.2.3"]).toBe(1);
  });
});
