// The version of this service and the Node that it needs, as package.json has them.

import { readFileSync } from "node:fs";
import { PACKAGE_FILE } from "./built.ts";

type Package = { readonly version: string; readonly engines: { readonly node: string } };

const { version, engines }: Package = JSON.parse(readFileSync(PACKAGE_FILE, "utf8"));

export const VERSION = version;
/** As npm writes ranges: `^20.15 || >=22.2`. */
export const NODE_RANGE = engines.node;
