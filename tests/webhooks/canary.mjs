// Runs inside a network namespace of its own: canaries on addresses that webhooks must never reach,
// a name server that lies, and the real client, whose address it is given. Prints what happened as
// JSON.
//
// The namespace has these addresses on its loopback device: see guard.test.ts.

import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { createServer } from "node:net";

const { WebhookClient, resolveAddresses } = await import(process.argv[2]);

const PORT = 8443;
const FORBIDDEN = [
  "127.0.0.1",
  "10.1.2.3",
  "192.168.7.7",
  "169.254.169.254",
  "100.64.0.9",
  "::1",
  "fd00::7",
];
const PUBLIC = "8.8.8.8";

const reached = {};
for (const address of [...FORBIDDEN, PUBLIC]) {
  reached[address] = 0;
  const canary = createServer((socket) => {
    reached[address] += 1;
    socket.on("error", () => {});
    socket.end("HTTP/1.1 204 Fine\r\n\r\n");
  });
  await new Promise((resolve, reject) => {
    canary.once("error", reject);
    canary.listen({ port: PORT, host: address, ipv6Only: address.includes(":") }, resolve);
  });
}

/** What each name answers, query by query; the last answer stays. */
const NAMES = {
  "public.example.com": [[PUBLIC]],
  "loopback.example.com": [["127.0.0.1"]],
  "private.example.com": [["10.1.2.3"]],
  "metadata.example.com": [["169.254.169.254"]],
  "shared.example.com": [["100.64.0.9"]],
  "mixed.example.com": [[PUBLIC, "192.168.7.7"]],
  "rebinding.example.com": [[PUBLIC], ["127.0.0.1"]],
};
const asked = {};

function answer(query) {
  const labels = [];
  let at = 12;
  while (query[at] !== 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + query[at]));
    at += query[at] + 1;
  }
  const type = query.readUInt16BE(at + 1);
  const question = query.subarray(12, at + 5);
  const name = labels.join(".").toLowerCase();
  const answers = NAMES[name];
  let addresses = [];
  if (answers !== undefined && type === 1) {
    const turn = asked[name] ?? 0;
    asked[name] = turn + 1;
    addresses = answers[Math.min(turn, answers.length - 1)];
  }
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(answers === undefined ? 0x8183 : 0x8180, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) =>
    Buffer.concat([
      // The name of the question, type A, class IN, no time to live.
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]),
      Buffer.from(address.split(".").map(Number)),
    ]),
  );
  return Buffer.concat([head, question, ...records]);
}

const server = createSocket("udp4", (query, from) =>
  server.send(answer(query), from.port, from.address),
);
await new Promise((resolve) => server.bind(5353, "127.0.0.1", resolve));
const resolver = new Resolver({ timeout: 1000, tries: 1 });
resolver.setServers(["127.0.0.1:5353"]);

const strict = { allow_private: false, allow_loopback: false };
const resolve = (name) => resolveAddresses(resolver, name);
const send = async (client, url) => {
  const { error, http_status } = await client.send({ url, body: "{}", headers: {} });
  return error ?? `http_${http_status}`;
};

const guarded = new WebhookClient(strict, resolve);
const verdicts = {};
const hosts = [
  ...FORBIDDEN.map((address) => (address.includes(":") ? `[${address}]` : address)),
  "[::ffff:10.1.2.3]",
  "2130706433",
  ...Object.keys(NAMES),
  "unknown.example.com",
];
for (const host of hosts) {
  verdicts[host] = await send(guarded, `https://${host}:${PORT}/`);
}
verdicts["rebinding.example.com again"] = await send(
  guarded,
  `https://rebinding.example.com:${PORT}/`,
);
const inside = { ...reached };

// The control: without the guard the same canary is reached, so it can be.
const open = new WebhookClient({ allow_private: true, allow_loopback: true }, resolve);
const control = await send(open, `http://private.example.com:${PORT}/`);
process.stdout.write(JSON.stringify({ verdicts, inside, control, reached }));
process.exit(0);
