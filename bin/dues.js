#!/usr/bin/env -S node --max-old-space-size=2000 --v8-pool-size=1 --enable-source-maps
// The `dues` command. In a checkout it first installs and builds what is missing.
// The options of Node stand in the line above alone: `npm start` and the benches read them there.
// --max-old-space-size: V8 lets a heap of up to 2 GB grow to twice what is alive before it cleans
// up, a larger one to four times. The service held 254 MB at most instead of 354; it lives on a
// tenth of the limit.
// --v8-pool-size: one thread for garbage collection instead of four. On two cores, callers waited
// for the four while the workers closed periods (docs/PERFORMANCE.md).
// --enable-source-maps: stack traces name the files of the source, not those that they were built
// into.

import "./node-version.js";
import { existsSync } from "node:fs";

if (existsSync(new URL("../src", import.meta.url))) {
  const { orFail, prepare } = await import("../scripts/run.js");
  await orFail(prepare);
}
await import("./load.js");
