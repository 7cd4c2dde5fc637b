// What packages load at a start that the service has no use for is left out of the bundle: with it
// a process that does everything took a third longer to load.

import { readFileSync } from "node:fs";

/** In a file of a package: what is there instead of what was, or the text of the whole file. */
const CHANGES = [
  // The client that sends webhooks; without caches, proxies, mocks, WebSockets and a second fetch.
  {
    file: "undici/index.js",
    text: `module.exports = {
  Agent: require("./lib/dispatcher/agent"),
  buildConnector: require("./lib/core/connect"),
};`,
  },
  // Webhooks go out as HTTP/1.1, and the API is served so.
  {
    file: "undici/lib/dispatcher/client-h2.js",
    was: "require('node:http2')",
    is: "{ constants: {} }",
  },
  { file: "fastify/lib/server.js", was: "require('node:http2')", is: "undefined" },
  // It looks at Response, for which Node 20 loads all of its fetch.
  {
    file: "pg/lib/stream.js",
    was: "function isCloudflareRuntime() {",
    is: "function isCloudflareRuntime() {\n  return false",
  },
  // Exemplars are not switched on.
  {
    file: "prom-client/lib/metrics/processCpuTotal.js",
    was: "require('@opentelemetry/api')",
    is: "undefined",
  },
];

const PACKAGES = /[\\/]node_modules[\\/](undici|fastify|pg|prom-client)[\\/]/;

export const leaveOut = {
  name: "leave-out",
  load: {
    filter: { id: PACKAGES },
    handler(id) {
      const path = id.replaceAll("\\", "/");
      const change = CHANGES.find(({ file }) => path.endsWith(`/node_modules/${file}`));
      return change && changed(change, readFileSync(id, "utf8"));
    },
  },
};

function changed({ file, text, was, is }, code) {
  if (text !== undefined) return text;
  if (!code.includes(was)) throw new Error(`${file} is of another version: look what it loads.`);
  return code.replace(was, () => is);
}
