// Text in XML: e-invoices, and what a PDF says about itself.

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

export function escapeXml(text: string): string {
  return xmlText(text).replace(/[&<>"']/g, (char) => ESCAPES[char] ?? char);
}

/** Without what XML 1.0 cannot hold, escaped or not: most control characters, halves of pairs. */
export function xmlText(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "");
}
