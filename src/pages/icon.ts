// The icon of a page: on pages of a project its initial in its own colour, else that of dues.

import { escapeText } from "./html.ts";
import { textColorOn } from "./page.ts";

export function initialOf(name: string): string {
  const [first = "•"] = name.trim();
  return first.toUpperCase();
}

/** As a data URL, so that a page has no other file. `color` is six hex digits. */
export function letterIcon(name: string, color: string): string {
  const letter = escapeText(initialOf(name));
  const text = `x="16" y="22.5" text-anchor="middle" font-size="19" font-weight="700"`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="${color}"/><text ${text} font-family="system-ui,sans-serif" fill="${textColorOn(color)}">${letter}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
