// The API client: a typed method for every operation, and lists that page by themselves.

import type { CallOptions, CallParts, Method } from "./call.ts";
import { Lists } from "./operations.ts";
import { type DuesOptions, Transport } from "./transport.ts";

/**
 * ```ts
 * const dues = new Dues({ base_url, token, project_id });
 * const { customer } = await dues.createCustomer({ external_id: "acme", name: "Acme Ltd" });
 * for await (const invoice of dues.invoices.all({ status: "overdue" })) …
 * ```
 * A refused call throws a DuesError. Failures that are safe to repeat are repeated.
 */
export class Dues extends Lists {
  readonly #transport: Transport;

  constructor(options: DuesOptions) {
    super();
    this.#transport = new Transport(options);
  }

  protected override call<Reply>(
    method: Method,
    path: string,
    options?: CallOptions,
    parts?: CallParts,
  ): Promise<Reply> {
    return this.#transport.send<Reply>({ method, path, ...parts }, options);
  }
}
