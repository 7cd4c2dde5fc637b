// What `import { Dues } from "dues/client"` offers. Apart from dues.ts, because webhooks.ts needs
// Node and the client itself runs in a browser too.

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
