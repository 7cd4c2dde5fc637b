// `dues doctor`: checks the installation and says for each check what was seen and what to do.

import type { Command } from "commander";
import { readConfig } from "../../config.ts";
import type { Finding } from "../../service/doctor.ts";
import { command } from "../connection/command.ts";
import { AlreadyReported, type Io, printJson } from "../terminal/io.ts";
import { clean, plural, styled } from "../terminal/output.ts";

export function doctorCommand(io: Io): Command {
  return command(
    "doctor",
    "reads",
    "Check the installation, and say what to do where something is wrong.",
    [
      ["dues doctor", "beside a running service, with its settings"],
      ["dues doctor --json", "for a monitor"],
    ],
  )
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (flags: { json?: boolean }) => {
      // Loaded on demand: the other commands start without it.
      const { examineInstallation } = await import("../../service/doctor.ts");
      const findings = await examineInstallation(readConfig(), (line) => io.err(`${line}\n`));
      const status = worstOf(findings);
      if (flags.json) printJson(io, { status, checks: findings });
      else io.out(findingsText(io, findings));
      if (status === "fail") throw new AlreadyReported("failed");
    });
}

const HELP = `
Run it where the service runs, as its user and with its settings: it reads the same environment. It
changes nothing and joins the embedded database that a service uses.

Exit codes: 0 nothing failed, also when there are warnings; 1 a check failed, or the database was not
reached.`;

type Status = Finding["status"];

const STYLES = { ok: "green", warn: "yellow", fail: "red", skipped: "dim" } as const;

function worstOf(findings: readonly Finding[]): "ok" | "warn" | "fail" {
  const has = (status: Status) => findings.some((finding) => finding.status === status);
  if (has("fail")) return "fail";
  return has("warn") ? "warn" : "ok";
}

export function findingsText(io: Io, findings: readonly Finding[]): string {
  const wide = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, status, seen, advice }) => {
    const head = `${styled(io, STYLES[status], status.padEnd(7))}  ${check.padEnd(wide)}`;
    const indent = " ".repeat("skipped".length + 2 + wide + 2);
    return [
      `${head}  ${clean(seen)}`,
      ...(advice === null ? [] : [`${indent}-> ${clean(advice)}`]),
    ];
  });
  const count = (status: Status) => findings.filter((each) => each.status === status).length;
  const parts = [
    `${count("ok")} ok`,
    plural(count("warn"), "warning"),
    `${count("fail")} failed`,
    `${count("skipped")} skipped`,
  ];
  return `${lines.join("\n")}\n\n${plural(findings.length, "check")}: ${parts.join(", ")}.\n`;
}
