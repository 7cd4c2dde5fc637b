// The groups of the reference, each in a sentence.

export const TAGS: Readonly<Record<string, string>> = {
  Tokens: "Who may call: tokens of an organization, with scopes and an end.",
  "Workspaces and projects":
    "A project holds all records of one business or one stage of it; workspaces group projects.",
  Customers: "Who is billed, with what documents and taxes need to know.",
  Metrics: "How usage events turn into units: sums, counts, maxima, levels that last.",
  Catalog: "Priced products that charges, add-ons and one-off invoices share.",
  Plans: "What a period costs: a base fee and charges by usage or quantity.",
  "Add-ons": "Priced items that are billed once, at the moment they are applied.",
  Subscriptions: "A customer on a plan, period by period.",
  "Usage events": "What customers used. Each event counts once, by its `transaction_id`.",
  Invoices: "What was billed, line by line; previews of what would be; documents.",
  Payments: "Money that came in, as you report it: the service collects none itself.",
  "Credit notes": "What takes back all or part of an invoice, and refunds of payments.",
  Taxes: "Percentages by code, named by settings, customers, plans, charges and add-ons.",
  Coupons: "Discounts by percentage or amount, and their use by customers.",
  Wallets: "Credit and prepaid money of customers, and every movement of it.",
  Analytics: "The figures of a project now.",
  Webhooks: "Where events are sent to, and every attempt to deliver them.",
  Dunning: "Which reminders and requests follow an unpaid invoice.",
  Clock: "The time of a sandbox project, which can be stopped and moved.",
  Settings: "What a project says about itself on documents, and its rules of billing.",
  Portal: "What customers see of themselves, without a token.",
  "Billing events": "The log of all that happened, to whom, by which token.",
  Tools: "The same operations as tools for agents, by the Model Context Protocol.",
  System: "Whether the process is alive and can do its work.",
};
