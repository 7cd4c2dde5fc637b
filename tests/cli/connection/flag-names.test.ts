// Refusals with the names of the command line.

import { Command } from "commander";
import { expect, test } from "vitest";
import { inFlags, propertyHint } from "../../../src/cli/connection/flag-names.ts";

const command = new Command("record")
  .option("--subscription <subscription>")
  .option("--state <state>")
  .option("--amount <cents>")
  .option("--allow-overpayment")
  .option("--to <instant>")
  .option("--name <name>");

test.each([
  [
    "Name a subscription_id, or ask for state=unbillable.",
    "Name a --subscription, or ask for --state unbillable.",
  ],
  ["Send allow_overpayment: true to keep the rest.", "Send --allow-overpayment to keep the rest."],
  ["amount_cents must be at least 1.", "--amount must be at least 1."],
  ["The name is taken; go to another.", "The name is taken; go to another."],
  ["my_subscription_id is not known.", "my_subscription_id is not known."],
])("%s", (message, shown) => {
  expect(inFlags(message, command)).toBe(shown);
  expect(inFlags(message, undefined)).toBe(message);
});

test("a property that is missing names the flag, or the command, that sets it", () => {
  const message = 'The property "seats" must be a decimal of 0 or more; it is missing.';
  const create = new Command("create").option("--property <name=value>");
  expect(propertyHint(message, create)).toBe("For example: --property seats=5");
  expect(propertyHint(message, command)).toContain(
    "subscriptions update <subscription> --property",
  );
  expect(propertyHint("The property is nice.", create)).toBeUndefined();
});

test("a field with its ending takes a value as its flag does", () => {
  expect(inFlags("Leave out subscription_id=ext:a.", command)).toBe(
    "Leave out --subscription ext:a.",
  );
});
