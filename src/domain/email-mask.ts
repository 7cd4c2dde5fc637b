// Masks email addresses for readers who have a link and no token.

/** `billing@acme.test` as `b***@acme.test`; empty when there is nothing before an @. */
export function maskedEmail(email: string): string {
  const at = email.lastIndexOf("@");
  if (at <= 0) return "";
  const [first = ""] = email;
  return `${first}***${email.slice(at)}`;
}
