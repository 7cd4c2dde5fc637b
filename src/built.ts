// Where files are that are opened by their path. A build puts all modules into one folder, as if
// each were a file of this one, so nothing else may look beside itself.

const HERE = new URL("./", import.meta.url);
/** A process or thread runs what was built, also in tests, where the rest runs from its source. */
const BUILT = import.meta.url.endsWith(".ts") ? new URL("../dist/", HERE) : HERE;

export const PACKAGE_FILE = new URL("../package.json", HERE);
/** The company of the demo. */
export const DEMO_COMPANY = new URL("cli/demo/company.yaml", HERE);
export const MIGRATIONS = new URL("store/migrations/", HERE);

/** Files that start a thread or a process; scripts/bundle/bundle.js makes them. */
export const ENTRIES = {
  workers: new URL("workers-thread.js", BUILT),
  pdf: new URL("pdf-thread.js", BUILT),
  copy_handle: new URL("copy-handle.js", BUILT),
} as const;
