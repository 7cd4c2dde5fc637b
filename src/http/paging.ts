// Reads the paging part of a query and writes cursors: opaque, signed, bound to the list they
// are of.

import { createHmac, timingSafeEqual } from "node:crypto";
import { refuseField } from "../errors.ts";
import type { PageRequest, Position } from "../store/page.ts";

export const PAGE_DEFAULT = 10;
export const PAGE_MAX = 1_000;
export const OFFSET_MAX = 1_000_000;
const SIGNATURE_BYTES = 16;

export type PagingQuery = {
  readonly limit?: string;
  readonly offset?: string;
  readonly all?: string;
  readonly count?: string;
  readonly cursor?: string;
};

export function pageOf(query: PagingQuery, after?: Position): PageRequest {
  const limit = query.limit === undefined ? PAGE_DEFAULT : Number(query.limit);
  if (limit < 1) throw refuseField("limit", "minimum", "limit must be at least 1.");
  const offset = Number(query.offset ?? 0);
  if (offset > OFFSET_MAX) {
    throw refuseField("offset", "maximum", `offset must be at most ${OFFSET_MAX}: page by cursor.`);
  }
  if (query.cursor !== undefined && query.offset !== undefined) {
    throw refuseField("cursor", "exclusive", "Use either cursor or offset, not both.");
  }
  return {
    limit: query.all === "1" ? PAGE_MAX : Math.min(limit, PAGE_MAX),
    offset,
    count: query.count === "1",
    ...(after === undefined ? {} : { after }),
  };
}

/** Cursors of one list: the same project and the same filters, else 422. */
export class Cursors {
  readonly #key: Buffer;
  readonly #binding: string;

  constructor(secret_key: Buffer, project: string, list: string, filters: object) {
    this.#key = secret_key;
    this.#binding = JSON.stringify([project, list, filters]);
  }

  page(query: PagingQuery): PageRequest {
    return pageOf(query, query.cursor === undefined ? undefined : this.#read(query.cursor));
  }

  write(position: Position | undefined): string | null {
    if (position === undefined) return null;
    const payload = Buffer.from(JSON.stringify(position));
    return Buffer.concat([this.#sign(payload), payload]).toString("base64url");
  }

  #read(cursor: string): Position {
    const bytes = Buffer.from(cursor, "base64url");
    const payload = bytes.subarray(SIGNATURE_BYTES);
    const signature = bytes.subarray(0, SIGNATURE_BYTES);
    if (
      signature.length !== SIGNATURE_BYTES ||
      bytes.toString("base64url") !== cursor ||
      !timingSafeEqual(signature, this.#sign(payload))
    ) {
      throw refuseField(
        "cursor",
        "invalid",
        "The cursor is not one of this list and these filters.",
      );
    }
    return JSON.parse(payload.toString()) as Position;
  }

  #sign(payload: Buffer): Buffer {
    const hmac = createHmac("sha256", this.#key).update("cursor").update(this.#binding);
    return hmac.update(payload).digest().subarray(0, SIGNATURE_BYTES);
  }
}
