// A receiver of webhooks that costs as little as it can: counts requests and notes when numbered
// ones came in.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

let count = 0;
const arrivals: [no: number, at: number][] = [];

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(request.url === "/count" ? { count } : arrivals));
    return;
  }
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => {
    body += chunk;
  });
  request.on("end", () => {
    count += 1;
    const no = /"no":(\d+)/.exec(body)?.[1];
    if (no !== undefined) {
      arrivals.push([Number(no), performance.timeOrigin + performance.now()]);
    }
    response.writeHead(204);
    response.end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on("SIGTERM", () => process.exit(0));
// A bench that fell over leaves nothing behind.
process.on("disconnect", () => process.exit(0));
