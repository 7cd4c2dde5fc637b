// What people call the provider of a payment, which callers name as they like.

const NAMES: Readonly<Record<string, string>> = {
  ach: "ACH",
  adyen: "Adyen",
  applepay: "Apple Pay",
  banktransfer: "Bank transfer",
  bacs: "Bacs",
  gocardless: "GoCardless",
  googlepay: "Google Pay",
  ideal: "iDEAL",
  paypal: "PayPal",
  sepa: "SEPA",
  wire: "Wire transfer",
  wiretransfer: "Wire transfer",
};

/** `stripe` as Stripe, `bank_transfer` as Bank transfer; what is no such code stays as it is. */
export function methodName(provider: string): string {
  if (!/^[a-z][a-z0-9_-]*$/.test(provider)) return provider;
  const known = NAMES[provider.replace(/[_-]/g, "")];
  const text = provider.replace(/[_-]/g, " ");
  return known ?? text.charAt(0).toUpperCase() + text.slice(1);
}
