// The error of whoever starts the service or works on its database, where the operator can help.

/** The start failed for a reason that the operator can remedy; the message says how. */
export class StartError extends Error {}
