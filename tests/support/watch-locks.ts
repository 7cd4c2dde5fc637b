// For every test file: a transaction that waits for locks against the order of
// docs/ARCHITECTURE.md, or is ended for a ring, fails the test in which it happens.

import { afterAll, afterEach } from "vitest";
import { watchLocks } from "./lock-order.ts";

const order = watchLocks();

function fail(): void {
  const breaches = order.take();
  if (breaches.length > 0) throw new Error(`Locks are taken out of order.\n${breaches.join("\n")}`);
}

afterEach(fail);
afterAll(fail);
