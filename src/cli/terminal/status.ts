// How a status looks where there are colours: green is well, yellow waits, red asks for somebody,
// dim is over.

import type { Style } from "./output.ts";

const STYLES: Readonly<Record<string, Style>> = {
  active: "green",
  succeeded: "green",
  pending: "yellow",
  suspended: "yellow",
  outstanding: "yellow",
  overdue: "red",
  uncollectible: "red",
  terminated: "dim",
  canceled: "dim",
  voided: "dim",
  used_up: "dim",
  expired: "dim",
  revoked: "dim",
};

export function statusStyle(status: string): Style {
  return STYLES[status] ?? "plain";
}

/** The column of a record's status. */
export const STATUS = {
  title: "STATUS",
  of: (row: { readonly status: string }) => row.status,
  style: (row: { readonly status: string }) => statusStyle(row.status),
} as const;
