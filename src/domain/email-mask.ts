// What may be shown of an address to somebody who only has a link.

/** `billing@acme.test` as `b***@acme.test`; nothing stays nothing. */
export function maskedEmail(email: string): string {
  const at = email.lastIndexOf("@");
  if (at <= 0) return "";
  const [first = ""] = email;
  return `${first}***${email.slice(at)}`;
}
