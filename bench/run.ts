// `npm run bench [name]`: measures and prints ratios, each inside one run on one machine.

import { benchClose } from "./close.ts";
import { benchDeliver } from "./deliver.ts";
import { benchIngest } from "./ingest.ts";
import { benchQueue } from "./queue.ts";

const benches: Readonly<Record<string, () => Promise<void>>> = {
  ingest: benchIngest,
  close: benchClose,
  deliver: benchDeliver,
  queue: benchQueue,
};

const wanted = process.argv.slice(2);
for (const name of wanted.length === 0 ? Object.keys(benches) : wanted) {
  const bench = benches[name];
  if (bench === undefined) {
    process.stderr.write(`There is no bench "${name}": ${Object.keys(benches).join(", ")}.\n`);
    process.exit(1);
  }
  await bench();
}
