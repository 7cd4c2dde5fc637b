// The ways to verify that docs/WEBHOOKS.md shows, run on deliveries that dues signed and on others.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { wallMs } from "../../src/clock.ts";
import { standardSignature } from "../../src/domain/webhooks.ts";

const guide = readFileSync(new URL("../../docs/WEBHOOKS.md", import.meta.url), "utf8");
const SECRET = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;

/** A language: its snippet, what runs it, and a program that prints an answer for each delivery. */
export type Language = {
  readonly name: string;
  readonly fence: string;
  readonly file: string;
  readonly command: readonly [string, ...string[]];
  readonly main: string;
  readonly program: string;
};

/** A test for the language, which is skipped, and says so, where it is not installed. */
export function verifiesIn(language: Language): void {
  const [command] = language.command;
  const probe = spawnSync(command, [command === "go" ? "version" : "--version"]);
  const installed = probe.error === undefined && probe.status === 0;
  if (!installed) console.warn(`${language.name} is not installed: its example is not run.`);

  describe(`verification in ${language.name}`, () => {
    test.skipIf(!installed)("takes what is signed, and nothing else", () => {
      const folder = mkdtempSync(join(tmpdir(), "dues-verify-"));
      try {
        const fence = new RegExp(`^\`\`\`${language.fence}\\n([\\s\\S]*?)^\`\`\`$`, "m");
        const [, snippet = ""] = fence.exec(guide) ?? [];
        writeFileSync(join(folder, language.file), snippet);
        writeFileSync(join(folder, language.main), language.program);
        writeFileSync(join(folder, "deliveries.json"), JSON.stringify(deliveries()));
        const [program, ...args] = language.command;
        const said = execFileSync(program, args, { cwd: folder, encoding: "utf8" });
        expect(said.trim().split("\n")).toEqual(["true", "true", ...Array(5).fill("false")]);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });
}

/** Two that are good, the second one of a rotation, and five that are not. */
function deliveries() {
  const body = '{"event":"webhook.test","created_at":"2026-01-01T00:00:00.000Z","data":{"ü":1}}';
  const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
  const now_s = Math.floor(wallMs() / 1000);
  const headers = (secrets: string[], timestamp_s = now_s) => ({
    "webhook-id": "m1",
    "webhook-timestamp": String(timestamp_s),
    "webhook-signature": standardSignature(secrets, { id: "m1", timestamp_s, body }),
  });
  return {
    secret: SECRET,
    deliveries: [
      { body, headers: headers([SECRET]) },
      { body, headers: headers([other, SECRET]) },
      { body: `${body} `, headers: headers([SECRET]) },
      { body, headers: headers([other]) },
      { body, headers: headers([SECRET], now_s - 400) },
      { body, headers: { ...headers([SECRET]), "webhook-id": "m2" } },
      { body, headers: {} },
    ],
  };
}
