// `dues doctor` with what its checks look at: the settings, the key and the configured database.

import { systemClock } from "../clock.ts";
import { type Config, urlAt } from "../config.ts";
import { askService } from "../doctor/ask-service.ts";
import { examine } from "../doctor/examine.ts";
import type { Finding } from "../doctor/finding.ts";
import { readSecretKey } from "../key-file.ts";
import { schemaVersion } from "../store/migration/migrate.ts";
import { openStore } from "./open-store.ts";
import { readProfile } from "./profile.ts";

export type { Finding };

/** Where a running service tells how it is: its health port, else where the API is. */
function addressOf(config: Config): string | undefined {
  const { host, health_port, port } = config;
  const known = health_port ?? port;
  return known === 0 ? readProfile(config)?.base_url : urlAt(host, known);
}

/** Every check of `dues doctor`, on the configured database. */
export async function examineInstallation(
  config: Config,
  say: (line: string) => void,
): Promise<Finding[]> {
  return examine({
    config,
    schema_version: await schemaVersion(),
    node_version: process.versions.node,
    now: () => systemClock.now(),
    readKey: () => readSecretKey(config),
    ask: () => askService(addressOf(config)),
    open: () => openStore(config, { hold: false, verb: "doctor", say, onLost: say }),
  });
}
