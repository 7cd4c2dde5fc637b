// What goes together on taxes, coupons and settings of a file, and what is told where it does not.

import { describe, expect, test } from "vitest";
import { checkFile } from "../../../../src/cli/service-file/checking/file.ts";

const HEAD = 'version: "1"\norg: acme\nworkspace: main\nproject: test\n';

/** `line:column field message | hint` of each fault. */
function faults(text: string): string[] {
  const result = checkFile(Buffer.from(HEAD + text));
  if (!Array.isArray(result)) return [];
  return result.map(
    ({ line, column, field, message, hint }) => `${line}:${column} ${field} ${message} | ${hint}`,
  );
}

describe("a good file", () => {
  test.each([
    [
      "the example of the decision",
      `settings: {country: FR, tax_id: FR00111222333, tax_codes: [vat]}
taxes: [{code: vat, name: VAT, percent: "20"}, {code: vat-low, name: VAT, percent: "5.5"}]
coupons: [{code: welcome, name: Welcome, percent: "10", times: 3, plan_codes: [pro], max_redemptions: 500}]
`,
    ],
    [
      "percents at their bounds",
      'taxes: [{code: a, name: A, percent: "0"}, {code: b, name: B, percent: "100.0000"}]\n',
    ],
    [
      "null where nothing is limited",
      'coupons: [{code: a, name: A, percent: "1", times: null, plan_codes: null, redeem_by: null, max_redemptions: null}]\n',
    ],
    ["an amount in a currency", "coupons: [{code: a, name: A, amount_cents: 1, currency: JPY}]\n"],
    [
      "no settings, no tax",
      "settings: {}\naddons: [{code: a, name: A, amount_cents: 1, tax_codes: []}]\n",
    ],
    [
      "a link with placeholders",
      "settings: {payment_url: 'https://pay.test/{number}?due={amount_due_cents}'}\n",
    ],
    ["no link", "settings: {payment_url: ''}\n"],
  ])("%s", (_, text) => {
    expect(faults(text)).toEqual([]);
  });
});

describe("a fault is told with its place and a hint", () => {
  const QUOTED =
    'Write a decimal from 0 to 100 with quotes, at most four after the point: percent: "5.5"';
  test.each([
    [
      "a percent without quotes",
      "taxes: [{code: a, name: A, percent: 20}]\n",
      `5:37 taxes[0].percent taxes[0].percent must be text, not the number 20. | ${QUOTED}`,
    ],
    [
      "a coupon's percent without quotes",
      "coupons: [{code: a, name: A, percent: 12.5}]\n",
      `5:39 coupons[0].percent coupons[0].percent must be text, not the number 12.5. | ${QUOTED}`,
    ],
    [
      "a percent above 100",
      'taxes: [{code: a, name: A, percent: "101"}]\n',
      `5:37 taxes[0].percent taxes[0].percent is "101", which is not of the right form. | ${QUOTED}`,
    ],
    [
      "a coupon without a price",
      "coupons: [{code: a, name: A}]\n",
      "5:11 coupons[0].percent A coupon needs exactly one of percent and amount_cents. | undefined",
    ],
    [
      "a coupon with two",
      'coupons: [{code: a, name: A, percent: "1", amount_cents: 5, currency: USD}]\n',
      "5:39 coupons[0].percent A coupon needs exactly one of percent and amount_cents. | undefined",
    ],
    [
      "a coupon of 0 percent",
      'coupons: [{code: a, name: A, percent: "0.0"}]\n',
      "5:39 coupons[0].percent percent must be above 0. | undefined",
    ],
    [
      "an amount without a currency",
      "coupons: [{code: a, name: A, amount_cents: 5}]\n",
      "5:11 coupons[0].currency currency is required beside amount_cents. | undefined",
    ],
    [
      "a percent in a currency",
      'coupons: [{code: a, name: A, percent: "5", currency: USD}]\n',
      "5:44 coupons[0].currency currency goes with amount_cents. | undefined",
    ],
    [
      "an end that is no instant",
      'coupons: [{code: a, name: A, percent: "5", redeem_by: 2030-01-01}]\n',
      '5:55 coupons[0].redeem_by coupons[0].redeem_by must be a timestamp such as 2027-01-31T12:00:00Z, not "2030-01-01". | undefined',
    ],
    [
      "one code twice",
      'taxes: [{code: a, name: A, percent: "1"}, {code: a, name: B, percent: "2"}]\n',
      "5:50 taxes[1].code taxes[0] has this code already: a | undefined",
    ],
    [
      "a tax named twice",
      "settings: {tax_codes: [a, a]}\n",
      "5:23 settings.tax_codes settings.tax_codes must not name one twice. | A list of codes of taxes, at most 5; [] for no tax.",
    ],
    [
      "a country that is false",
      "settings: {country: de}\n",
      '5:21 settings.country settings.country is "de", which is not of the right form. | Two capital letters, such as FR.',
    ],
    [
      "a country that there is not",
      "settings: {country: UK}\n",
      '5:21 settings.country settings.country must be a country of ISO 3166-1, not "UK". | Did you mean GB?',
    ],
    [
      "a name that cannot be seen",
      'settings: {name: " "}\n',
      '5:18 settings.name settings.name must be text that can be seen, not " ". | undefined',
    ],
    [
      "a link that is not https",
      "settings: {payment_url: 'http://pay.test'}\n",
      "5:25 settings.payment_url payment_url must begin with https://. | undefined",
    ],
    [
      "a placeholder that nobody knows",
      "settings: {payment_url: 'https://pay.test/{nummer}'}\n",
      "5:25 settings.payment_url payment_url: {nummer} is not known; write {invoice_id} {number} {customer_id} {external_id} {amount_due_cents} {currency}. | undefined",
    ],
    [
      "an unknown setting",
      "settings: {tax_code: [vat]}\n",
      "5:12 settings.tax_code The key tax_code is not known here. | Did you mean tax_codes?",
    ],
    [
      "times with an exponent",
      'coupons: [{code: a, name: A, percent: "5", times: 1e1}]\n',
      "5:51 coupons[0].times coupons[0].times is written as 1e1. | Write a plain whole number.",
    ],
  ])("%s", (_, text, wanted) => {
    expect(faults(text)).toEqual([wanted]);
  });
});
