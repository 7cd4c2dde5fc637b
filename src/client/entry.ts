// What users import: `import { Dues } from "dues-client"`, or from "dues/client" where the service
// is installed. The types of records are beside it: "dues-client/types".

export type { CallOptions } from "./call.ts";
export { Dues } from "./dues.ts";
export { DuesError, type DuesErrorCode, type ErrorDetail } from "./error.ts";
export type { Filters } from "./listing.ts";
export type { DuesOptions } from "./transport.ts";
export type { ErrorCode, WebhookEvent } from "./types.ts";
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookHeaders,
  WebhookVerificationError,
} from "./webhooks.ts";
