// What is wrong with the URL of a webhook in a file: what no service takes, and what the service
// that is asked does not take.

import { type AddressPolicy, checkWebhookUrl } from "../../../domain/addresses.ts";
import { parsedUrl } from "../../../schema/urls.ts";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const PRIVATE = /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[f[cd])/;

/** The policy of a service that allows the most. */
const WIDEST: AddressPolicy = { allow_private: true, allow_loopback: true };

/** What is wrong with it for every service; undefined when nothing is. */
export function urlFault(text: string): string | undefined {
  const url = parsedUrl(text);
  if (url === undefined) return "must be a full URL such as https://example.com/webhooks";
  if (url.username !== "" || url.password !== "") return "must not hold a user name or password";
  if (url.hash !== "") return "must not hold a # part";
  // http is allowed where the service may allow it: to this machine, and to private addresses.
  const isNear = LOOPBACK.test(url.hostname) || PRIVATE.test(url.hostname);
  const isAllowed = url.protocol === "https:" || (url.protocol === "http:" && isNear);
  return isAllowed ? refusedUrl(text, WIDEST) : "must start with https://";
}

/** Why a service of this policy takes no new endpoint there. */
export function refusedUrl(text: string, policy: AddressPolicy = WIDEST): string | undefined {
  const checked = checkWebhookUrl(text, policy);
  return checked.ok ? undefined : checked.reason;
}
