// What `import { Dues } from "dues/client"` offers. The web pages import dues.ts itself, which
// needs nothing of Node.

export type { CallOptions } from "./call.ts";
export { Dues, type Listing } from "./dues.ts";
export { DuesError, type ErrorDetail } from "./error.ts";
export type { DuesOptions } from "./transport.ts";
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookMessage,
  WebhookVerificationError,
} from "./webhooks.ts";
