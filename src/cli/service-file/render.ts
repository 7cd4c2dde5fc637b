// A sync plan and the faults of a file as text, and as JSON.

import type { Io } from "../terminal/io.ts";
import { plural, styled } from "../terminal/output.ts";
import { visible } from "../terminal/visible.ts";
import type { Fault } from "./checking/yaml.ts";
import type { Change } from "./comparing.ts";
import type { Step } from "./planning/steps.ts";

const MARKS = {
  create: ["+", "green"],
  change: ["~", "yellow"],
  same: ["=", "dim"],
  left: ["!", "dim"],
} as const;

export function renderPlan(io: Io, steps: readonly Step[]): string {
  const lines = steps.flatMap((step) => {
    const [mark, style] = MARKS[step.act];
    const note = step.act === "left" ? "  not in the file: left alone" : "";
    return [
      styled(io, style, `${mark} ${step.section.padEnd(8)}  ${visible(step.key)}${note}`),
      ...step.changes.map((change) => `    ${changeText(step, change)}`),
    ];
  });
  return lines.map((line) => `${line}\n`).join("");
}

function changeText(step: Step, { field, from, to }: Change): string {
  if (step.act === "create") return `${visible(field)}: ${shown(field, to)}`;
  return `${visible(field)}: ${shown(field, from)} → ${shown(field, to)}`;
}

/** What null means where it is not "none", by the last part of the field's name. */
const UNSET: Readonly<Record<string, string>> = {
  tax_codes: "not said",
  times: "for ever",
  plan_codes: "all",
  metric_codes: "all",
};

function shown(field: string, value: unknown): string {
  const name = field.split(".").at(-1) ?? "";
  const unset = UNSET[name];
  if ((value === null || value === undefined) && unset !== undefined) return unset;
  if (name === "tax_codes" && Array.isArray(value) && value.length === 0) return "no tax";
  return visible(plainly(value));
}

function plainly(value: unknown): string {
  if (value === undefined || value === null) return "none";
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) {
    return value.length === 0 ? "none" : value.join(", ");
  }
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}

/** "2 to create, 1 to change, 5 as they are, 1 left alone" */
export function summary(steps: readonly Step[]): string {
  const count = (act: Step["act"]) => steps.filter((step) => step.act === act).length;
  const [made, moved, same, alone] = [
    count("create"),
    count("change"),
    count("same"),
    count("left"),
  ];
  const parts = [
    ...(made > 0 ? [`${made} to create`] : []),
    ...(moved > 0 ? [`${moved} to change`] : []),
    ...(same > 0 ? [`${same} as declared`] : []),
    ...(alone > 0 ? [`${alone} left alone`] : []),
  ];
  return parts.length === 0 ? "The file declares nothing." : `${parts.join(", ")}.`;
}

/** A step as --json prints it, without the request behind it. */
export function stepJson({ section, key, act, changes, reprices }: Step) {
  return { section, key, act, changes, reprices };
}

export function renderFaults(io: Io, path: string, faults: readonly Fault[]): string {
  const lines = faults.flatMap(({ line, column, field, message, hint }) => {
    const text = field === "" || message.includes(field) ? message : `${field}: ${message}`;
    return [
      `${styled(io, "red", `${visible(path)}:${line}:${column}`)}  ${visible(text)}`,
      ...(hint === undefined ? [] : [`    ${visible(hint)}`]),
    ];
  });
  const count = plural(faults.length, "fault");
  return `${lines.join("\n")}\n\n${count}. Nothing was sent.\n`;
}
