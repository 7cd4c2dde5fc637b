#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=170 --v8-pool-size=1
// The `dues` command. In a checkout it first installs and builds what is missing.

import { existsSync } from "node:fs";

if (existsSync(new URL("../src", import.meta.url))) {
  const { orFail, prepare } = await import("../scripts/run.js");
  await orFail(prepare);
}
await import("../dist/cli/main.js");
