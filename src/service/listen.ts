// From the first connection to the last: the port of callers, and that of health and metrics where
// they have one of their own.

import { type Config, urlAt } from "../config.ts";
import type { Context } from "../context.ts";
import { Bounds } from "../http/admission/bound.ts";
import type { Readiness } from "../http/readiness.ts";
import { healthRoutes } from "../http/routes/system.ts";
import { buildServer, type HttpServer } from "../http/server.ts";
import { StartError } from "./start-error.ts";

/** When connections are cut off, such as of who sends a body byte by byte: a stop takes 10 s. */
const DRAIN_MS = 8_000;
/** How long a stop waits for connections to close by themselves, and how often it looks. */
const CONNECTIONS_CLOSE_MS = 1_000;
const CONNECTIONS_POLL_MS = 20;

/** Listens where the settings say, and returns the address for callers. */
export async function listen(server: HttpServer, config: Config): Promise<string> {
  const address = await server.listen(config).catch(namePort(config.port));
  return config.port === 0 ? urlAt(config.host, Number(new URL(address).port)) : config.base_url;
}

/** Health and metrics on their own port, if there is one: it answers until all has stopped. */
export async function listenForHealth(context: Context, readiness: Readiness) {
  const { health_port: port, host } = context.config;
  if (port === undefined) return async () => {};
  // Its own bounds are not shown: the figures are of the port where the API is.
  const { fastify } = buildServer(context, healthRoutes(readiness), new Bounds());
  await fastify.listen({ port, host }).catch(namePort(port));
  return () => fastify.close();
}

function namePort(port: number): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new StartError(`Port ${port} is taken. Try: npm start -- --port ${port + 1}`);
  };
}

/** Answers what was asked, closes every connection, and writes down which tokens were used. */
export async function drain(server: HttpServer, readiness: Readiness): Promise<void> {
  readiness.draining = true;
  const timer = setTimeout(() => server.fastify.server.closeAllConnections(), DRAIN_MS);
  server.stopListening();
  await waitForConnections(server, CONNECTIONS_CLOSE_MS);
  await server.fastify.close();
  // The server does not wait for connections of other sockets than its own.
  await waitForConnections(server, DRAIN_MS);
  clearTimeout(timer);
  await server.gate.flushLastUsed();
}

/** Busy connections close with their next response; idle ones are not waited for any longer. */
async function waitForConnections(server: HttpServer, most_ms: number): Promise<void> {
  for (let waited = 0; waited < most_ms; waited += CONNECTIONS_POLL_MS) {
    if (server.countConnections() === 0) return;
    await new Promise((resolve) => setTimeout(resolve, CONNECTIONS_POLL_MS));
  }
}
