// Grants: money that a customer has, used up by invoices in one order.

import type { GrantKind } from "../schema/grants.ts";

export const DEFAULT_PRIORITY = 50;

export type UsableGrant = {
  readonly id: string;
  readonly kind: GrantKind;
  readonly remaining_cents: number;
  readonly priority: number;
  readonly expires_at: Date | null;
};

export type Taken = {
  readonly grant_id: string;
  readonly kind: GrantKind;
  readonly amount_cents: number;
};

/** The order in which grants are used: lower priority, then earlier expiry, `free`, the older. */
export function compareGrants(a: UsableGrant, b: UsableGrant): number {
  if (a.priority !== b.priority) return a.priority - b.priority;
  const [left, right] = [expiryOf(a), expiryOf(b)];
  if (left !== right) return left - right;
  if ((a.kind === "free") !== (b.kind === "free")) return a.kind === "free" ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

function expiryOf({ expires_at }: UsableGrant): number {
  return expires_at?.getTime() ?? Number.POSITIVE_INFINITY;
}

/** What an amount takes of each grant. All of `grants` can be used now. */
export function takeGrants(amount_cents: number, grants: readonly UsableGrant[]): Taken[] {
  let missing = amount_cents;
  const taken: Taken[] = [];
  for (const { id: grant_id, kind, remaining_cents } of [...grants].sort(compareGrants)) {
    const cents = Math.min(missing, remaining_cents);
    if (cents <= 0) continue;
    taken.push({ grant_id, kind, amount_cents: cents });
    missing -= cents;
  }
  return taken;
}
