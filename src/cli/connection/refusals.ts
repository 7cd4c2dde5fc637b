// What a refusal of the API means to somebody at the command line: the exit code, and what is said.

import type { Command } from "commander";
import type { DuesError } from "../../client/error.ts";
import { EXIT, type Io } from "../terminal/io.ts";
import { visible } from "../terminal/visible.ts";
import { inFlags, propertyHint } from "./flag-names.ts";

export function exitOf({ status, code }: DuesError): keyof typeof EXIT {
  // Something answered, and not the service.
  const isForeign = status < 300 && code === `http_${status}`;
  if (status === 0 || isForeign) return "unreachable";
  return code === "unauthorized" || code === "forbidden" ? "not_allowed" : "failed";
}

/** Says it in the words of the command that ran, and returns the exit code. */
export function tellRefusal(io: Io, error: DuesError, ran: Command | undefined): number {
  const { status, message, details, request_id } = error;
  const shown = (text: string) => visible(inFlags(text, ran));
  const more = details
    .slice(1)
    .map((each) => `  ${shown(each.message ?? `${each.field}: ${each.code}`)}\n`);
  const trace = request_id !== undefined && status >= 500 ? ` (request ${request_id})` : "";
  const hint = propertyHint(message, ran);
  io.err(`dues: ${shown(message)}${trace}\n${more.join("")}`);
  if (hint !== undefined) io.err(`${hint}\n`);
  if (status === 0) io.err("Is the service running there? npm start runs one here.\n");
  if (status === 401) io.err("dues login keeps another token.\n");
  return EXIT[exitOf(error)];
}
