// Reads that may touch many pages, each with its reason. A line here that no read needs fails the
// test.

export type Costly = {
  /** The file and the function that sends it; any, where it is not there. */
  readonly at?: string;
  /** A part of the statement's text, where the function has others; blanks count as one. */
  readonly text?: RegExp;
  readonly reason: string;
};

export const COSTLY: readonly Costly[] = [
  {
    text: /^ ?select count\(\*\) from \( select 1 .* counted$/,
    reason: "each row that is counted is looked at, up to 100,000 of them",
  },
  {
    at: "catalog/coupons listApplied",
    text: /ended_at/,
    reason: "a status follows from the uses of each; coupons are applied one by one",
  },
  {
    at: "feeds/attempts list",
    text: /a\.status = \$/,
    reason: "nearly all attempts are delivered, and need no index to be found",
  },
  {
    at: "feeds/billing-events listDone",
    reason: "what one step of a clock did, which nobody else has written to meanwhile",
  },
  {
    at: "invoices/invoices list",
    text: /status = .* order by i\.(created_at|period_end)/,
    reason: "a status within a span of time: as many as are in the span",
  },
];
