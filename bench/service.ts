// The service as a process for the benches: what `dues serve` runs, on the bench's database.

import { readConfig } from "../src/config.ts";
import { serve } from "../src/main.ts";

const running = await serve({
  config: readConfig(),
  role: "api",
  say: () => {},
  onLost: () => process.exit(1),
});
process.on("SIGTERM", async () => {
  await running.stop();
  process.exit(0);
});
process.send?.({ url: running.base_url });
