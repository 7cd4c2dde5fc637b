// The log: JSON lines on standard error, with tokens and secrets redacted.

import { type DestinationStream, type Logger, pino } from "pino";
import type { Config } from "./config.ts";

export function makeLog(
  config: Config,
  destination: DestinationStream = pino.destination({ dest: 2, sync: false }),
): Logger {
  return pino(
    {
      level: config.log_level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: ["token", "secret", "authorization", "*.token", "*.secret", "*.authorization"],
        censor: "[redacted]",
      },
    },
    destination,
  );
}
