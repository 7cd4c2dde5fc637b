// What plans of a sync are made of, without a server: a file's head, and a project that is empty.

import type { Present } from "../../src/cli/service-file/present-state.ts";
import type { Settings } from "../../src/client/types.ts";

export const HEAD = { version: "1", org: "acme", workspace: "main", project: "test" } as const;

export const NOTHING_PRESENT: Present = {
  settings: {} as Settings,
  taxes: [],
  coupons: [],
  catalog: [],
  metrics: [],
  addons: [],
  plans: [],
  dunning: { enabled: false, steps: [] },
  webhooks: [],
};
