// Holds what prices are about to refer to, ahead of whatever is locked behind it: catalog items,
// metrics, taxes and plans, in the order of docs/ARCHITECTURE.md.

import type { ProjectId } from "../../ids.ts";
import type { ChargeInput } from "../../schema/plans.ts";
import * as catalog from "../../store/catalog/catalog.ts";
import * as metrics from "../../store/catalog/metrics.ts";
import * as plans from "../../store/catalog/plans.ts";
import * as taxes from "../../store/catalog/taxes.ts";
import type { Tx } from "../../store/db/db.ts";

type Wanted = {
  readonly charges?: readonly ChargeInput[] | undefined;
  readonly tax_codes?: readonly string[] | null | undefined;
  readonly plan_ids?: readonly string[];
};

/** Until the commit nobody changes or archives what is held. It need not be there. */
export async function holdPrices(
  tx: Tx,
  project: ProjectId,
  { charges = [], tax_codes, plan_ids = [] }: Wanted,
): Promise<void> {
  const items = charges.flatMap((charge) => charge.catalog_item_code ?? charge.catalog_ref ?? []);
  const codes = charges.flatMap((charge) => charge.billable_metric_code ?? charge.metric_ref ?? []);
  const ids = charges.flatMap(({ billable_metric_id }) => billable_metric_id ?? []);
  const taxed = [tax_codes, ...charges.map((charge) => charge.tax_codes)].flatMap(
    (own) => own ?? [],
  );
  await Promise.all([
    catalog.hold(tx, project, items),
    metrics.hold(tx, project, { ids, codes }),
    taxes.hold(tx, project, taxed),
    plans.hold(tx, project, plan_ids),
  ]);
}
