// A successful call of a route, with the name that the route goes by.

import type { Answer } from "./app.ts";
import type { Client } from "./client.ts";

/** `name` is the route's method and pattern. */
export type Happy = { readonly name: string; readonly answer: Answer };

export async function called(
  api: Client,
  name: string,
  path: string,
  body?: unknown,
  headers: Record<string, unknown> = {},
): Promise<Happy> {
  const method = name.slice(0, name.indexOf(" "));
  return { name, answer: await api.call(method, path, body, headers) };
}
