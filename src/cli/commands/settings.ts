// `dues settings`: what the project says about itself on documents, and its rules of billing.

import { Command } from "commander";
import type { SetSettingsBody } from "../../client/types.ts";
import { remote, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import { CliError, type Io, printJson } from "../terminal/io.ts";
import { clean, fields } from "../terminal/output.ts";

type Flags = ConnectionFlags & { readonly json?: boolean };

export function settingsCommand(io: Io): Command {
  const get = remote("get", "reads", "Show the settings, or one of them.", [
    ["dues settings", "all of them"],
    ["dues settings get net_payment_days", "its value alone"],
  ])
    .argument("[key]", "a setting")
    .option("--json", "print JSON")
    .action(
      withConnection<Flags>(io, async ({ dues }, flags, key) => {
        const answer = await dues.getSettings();
        if (key === undefined) {
          if (flags.json) return printJson(io, answer);
          return io.out(fields(answer.settings));
        }
        const value = new Map<string, unknown>(Object.entries(answer.settings)).get(key);
        if (value === undefined) throw await unknownKey(key);
        if (flags.json) return printJson(io, { [key]: value });
        const isText = typeof value === "string" || typeof value === "number";
        io.out(`${isText ? clean(value) : JSON.stringify(value)}\n`);
      }),
    );
  const set = remote("set", "writes", "Change settings; what is not named keeps its value.", [
    ['dues settings set name="Acme Ltd" country=IE', ""],
    ["dues settings set tax_codes=vat-ie net_payment_days=30", "lists with commas"],
    ["dues settings set tax_codes:=null", ":= takes JSON"],
    ["dues settings set invoice_grouping=customer", "one invoice for what is due together"],
  ])
    .argument("<key=value...>", "one or more")
    .option("--json", "print JSON")
    .action(
      withConnection<Flags>(io, async ({ dues }, flags, ...given) => {
        const body = await settingsBody(given.flat());
        const answer = await dues.setSettings(body);
        if (flags.json) return printJson(io, answer);
        const changed = Object.entries(answer.settings).filter(([name]) => name in body);
        io.out(fields(Object.fromEntries(changed)));
      }),
    );
  return new Command("settings")
    .description("The project's settings: its name and address on invoices, days to pay, …")
    .addCommand(get, { isDefault: true })
    .addCommand(set)
    .addHelpText("after", '\nExample:\n  $ dues settings set name="Acme Ltd" net_payment_days=30');
}

/** What the schema says of one setting: `["array", "null"]`, `"integer"`. */
type Setting = { readonly type?: string | readonly string[] };

/** The schema says which settings there are and which are numbers or lists. */
async function settingsBody(pairs: readonly string[]): Promise<SetSettingsBody> {
  const { SettingsPut } = await import("../../schema/settings.ts");
  const known = new Map(Object.entries<Setting>(SettingsPut.properties as Record<string, Setting>));
  const body: Record<string, unknown> = {};
  for (const pair of pairs) {
    const [, key = "", json, text = ""] = /^([^=:]+)(:?)=(.*)$/s.exec(pair) ?? [];
    if (key === "") throw new CliError("usage", `${pair} is not key=value.`);
    const schema = known.get(key);
    if (schema === undefined) throw await unknownKey(key);
    body[key] = json === ":" ? parsed(key, text) : typed(schema, key, text);
  }
  return body;
}

function typed(schema: Setting, key: string, text: string): unknown {
  const types = [schema.type].flat();
  if (types.includes("integer")) {
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw new CliError("usage", `${key} takes a whole number, not "${text}".`);
  }
  if (types.includes("array")) return text === "" ? [] : text.split(",");
  return text;
}

function parsed(key: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError("usage", `${key}:= takes JSON, and "${text}" is none.`);
  }
}

async function unknownKey(key: string): Promise<CliError> {
  const { SettingsPut } = await import("../../schema/settings.ts");
  const names = Object.keys(SettingsPut.properties).join(", ");
  return new CliError("usage", `There is no setting ${key}.`, `There are ${names}.`);
}
