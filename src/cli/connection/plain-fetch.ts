// As much of fetch as the client uses, over node:http: the fetch of Node takes 0.15 s of CPU to
// load, which is more than all else that a command does.

import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

/** The part of an answer that the client reads. */
type Answer = Pick<Response, "ok" | "status" | "arrayBuffer"> & {
  readonly headers: Pick<Headers, "get">;
};

/** The part of a request that the client sends. */
type Sent = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
};

/** Follows no redirect: a token is sent to the address that was named, and to no other. */
async function send(url: string, { method, headers, body, signal }: Sent = {}): Promise<Answer> {
  const request = url.startsWith("https:") ? requestHttps : requestHttp;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const made = request(url, {
      ...(method !== undefined && { method }),
      ...(signal !== undefined && { signal }),
      headers: { accept: "*/*", ...headers, ...lengthOf(body) },
    });
    made.once("response", resolve);
    made.once("error", reject);
    made.end(body);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { statusCode: status = 0 } = response;
  const bytes = new Uint8Array(Buffer.concat(chunks));
  return {
    ok: status >= 200 && status < 300,
    status,
    headers: { get: (name) => headerOf(response, name) },
    arrayBuffer: async () => bytes.buffer,
  };
}

function lengthOf(body: string | undefined) {
  return body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name.toLowerCase()];
  return value === undefined ? null : [value].flat().join(", ");
}

/** The fetch of the client alone, which asks no more of it than `send` gives. */
export const plainFetch = send as typeof fetch;
