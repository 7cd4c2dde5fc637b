// The version of this service, as package.json has it.

import { createRequire } from "node:module";

const read = createRequire(import.meta.url)("../package.json") as { readonly version: string };

export const VERSION = read.version;
