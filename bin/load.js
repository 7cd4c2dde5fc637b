// Loads the built command, with what Node compiled of it at the last start. Node 22.1 and newer
// keep that, here beside the code: who may not change the code cannot change it either.

import module from "node:module";
import { fileURLToPath } from "node:url";

module.enableCompileCache?.(fileURLToPath(new URL("../dist/.compiled", import.meta.url)));
await import("../dist/dues.js");
