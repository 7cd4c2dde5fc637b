// What people call the provider of a payment.

import { expect, test } from "vitest";
import { methodName } from "../../src/domain/payment-methods.ts";

test.each([
  ["stripe", "Stripe"],
  ["paypal", "PayPal"],
  ["bank_transfer", "Bank transfer"],
  ["credit-card", "Credit card"],
  ["Acme Bank AG", "Acme Bank AG"],
  ["<b>", "<b>"],
])("%s is called %s", (provider, name) => {
  expect(methodName(provider)).toBe(name);
});
