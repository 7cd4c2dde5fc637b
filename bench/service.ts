// The service as a process for the benches: what `dues serve` runs, on the bench's database.

import { type Role, readConfig } from "../src/config.ts";
import { serve } from "../src/service/serve.ts";

const running = await serve({
  config: readConfig(),
  role: (process.env.DUES_ROLE ?? "api") as Role,
  say: () => {},
  onLost: () => process.exit(1),
});
process.on("SIGTERM", async () => {
  await running.stop();
  process.exit(0);
});
// A bench that fell over leaves nothing behind.
process.on("disconnect", () => process.exit(1));
process.send?.({ url: running.base_url });
