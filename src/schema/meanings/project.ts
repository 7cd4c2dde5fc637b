// The meaning of a project and what surrounds it: tenants, tokens, settings, webhooks, dunning, the
// clock, the log, tools and health.

import { IDS, type Meaning } from "./common.ts";

const TOKEN = { id: ["Made by the service.", IDS.token], name: ["What it is for.", "ci"] } as const;
const SCOPES: Meaning = ["What it may do. `*` is all.", ["read", "write"]];
const PREFIX: Meaning = ["The first characters of it, to know it by.", "dues_4fJq81Zc"];
const EXPIRES: Meaning = ["When it ends; null: never.", null];

export const PROJECT: Readonly<Record<string, Readonly<Record<string, Meaning>>>> = {
  Token: {
    ...TOKEN,
    key_prefix: PREFIX,
    scopes: SCOPES,
    expires_at: EXPIRES,
    last_used_at: ["When it was last used, to about a minute; null: never.", null],
    revoked_at: ["When it was revoked; null while it was not.", null],
  },
  createKey: {
    name: ["What it is for.", "ci"],
    organization_id: ["The organization's id, which is a secret.", IDS.organization],
    scopes: SCOPES,
    project_ids: [
      "The only projects that the token is for. Left out: all of the organization.",
      [IDS.project],
    ],
    expires_at: ["When it ends. Left out: never.", "2027-01-01T00:00:00Z"],
  },
  createKeyReply: {
    ...TOKEN,
    token: ["The full value: shown once and not kept.", "dues_4fJq81Zc…"],
    key_prefix: PREFIX,
    scopes: SCOPES,
    expires_at: EXPIRES,
  },
  getCurrentKeyReply: {
    organization: "The organization of the token.",
    "organization.id": [
      "Its id, with which tokens are made: for admin tokens only.",
      IDS.organization,
    ],
    "organization.name": ["Its name.", "Example Ltd"],
    "organization.slug": ["Its short name.", "default"],
  },
  Workspace: {
    id: ["Made by the service.", IDS.workspace],
    slug: ["Short name: lower case, digits, hyphens.", "default"],
    name: ["What people call it.", "Default"],
  },
  Project: {
    id: ["What X-Project-Id names.", IDS.project],
    workspace_slug: ["Short name of the workspace.", "default"],
    slug: ["Short name: lower case, digits, hyphens.", "default"],
    name: ["What people call it.", "Default"],
    mode: ["A sandbox project has a clock that can be moved.", "sandbox"],
    frozen_at: [
      "Where the clock of a sandbox stands; null: it runs. Left out by the list while it cannot be read.",
      null,
    ],
    default_currency: ["Currency where nothing else says one.", "USD"],
    workspace: ["Slug or id of the workspace.", "default"],
  },
  listProjects: {
    workspace: ["Only of this workspace: slug or id.", "default"],
    slug: ["Only the project with this slug or id.", "default"],
  },
  Settings: {
    name: ["Your name on documents.", "Example Ltd"],
    address: ["Street and number on documents, lines as on an envelope.", "1 Sample Street"],
    city: ["City on documents.", "London"],
    postal_code: ["Postal code on documents.", "N1 9GU"],
    region: ["State or region on documents.", ""],
    country: ["Two letters of ISO 3166-1, or empty.", "GB"],
    tax_id: [
      "Your tax number on documents. A VAT id is kept in capitals, without blanks and signs.",
      "GB000000000",
    ],
    tax_codes: ["Taxes of every fee for which nothing nearer says any.", ["vat"]],
    footer: ["The last lines of documents.", "Example Ltd, registered in England"],
    invoice_prefix: ["First part of invoice numbers, 1 to 8 capital letters or digits.", "INV"],
    credit_note_prefix: ["First part of credit note numbers.", "CN"],
    payment_url: [
      "Where invoices are paid: https, with {invoice_id} {number} {customer_id} {external_id} {amount_due_cents} {currency}. Empty: nowhere.",
      "https://pay.example.test/{number}",
    ],
    payment_instructions: [
      "How to pay otherwise, such as bank details, for whoever has something to pay.",
      "IBAN GB33 BUKB 2020 1555 5555 55",
    ],
    support_email: ["Where customers ask about a bill.", "billing@example.test"],
    logo_color: ["Colour of your name on documents and portal, #rrggbb.", "#3347c4"],
    net_payment_days: ["Days to pay of invoices made from now on.", 14],
    default_currency: ["Currency where nothing else says one.", "USD"],
    late_usage_periods: ["How many closed periods late usage may still correct; 0 for none.", 2],
    invoice_grouping:
      "What makes one invoice: `separate`, each thing that is billed; `subscription`, what falls due for a subscription at one instant; `customer`, what does for a customer. Customers may have their own.",
    portal_access:
      "`open`: whoever has the customer's id sees the portal. `signed`: only who has a link from POST /v1/customers/:id/portal-links.",
  },
  WebhookEndpoint: {
    id: ["Made by the service.", IDS.endpoint],
    url: ["Where events are posted to: https.", "https://example.test/hooks"],
    events: ["The events that are sent to it.", ["invoice.created", "payment.succeeded"]],
    secret: ["Signs deliveries. In full when it is made or rotated, masked afterwards.", "whsec_…"],
    enabled: ["1 when events are sent, 0 when they wait.", 1],
    disabled_reason: ["Why it is off; null: it is on.", null],
    jobs: "What is being done with a long queue of it, piece by piece; mostly nothing.",
    since: ["From this instant on.", "2026-02-01T00:00:00Z"],
  },
  WebhookJob: {
    kind: "`resume`: what waits for a retry is sent at once. `replay`: messages are sent again.",
    since: ["A replay takes the messages from this instant on.", "2026-02-01T00:00:00.000Z"],
    done: ["Messages that were queued so far.", 12_000],
    total: ["How many there will be; null: not counted.", 50_000],
    created_at: ["When it was asked for.", "2026-02-03T08:00:00.000Z"],
  },
  createWebhook: {
    if_absent: ["true makes none where an endpoint has this URL already.", true],
  },
  rotateWebhookSecret: {
    grace_hours: [
      "For how many hours the secret signs that is replaced; 24 unless said. 0 ends all former ones.",
      24,
    ],
  },
  UrlPolicy: {
    allow_private: ["Whether also http, and addresses of private networks.", false],
    allow_loopback: ["Whether also http and https to the machine of the service.", false],
    own_host: ["Host and port of the service, which it does not send to.", "billing.example.test"],
  },
  Envelope: {
    created_at: ["When it happened.", "2026-02-01T00:00:00.000Z"],
    "data.applied_add_on.add_on_code": ["Code of the add-on.", "onboarding"],
    "data.applied_add_on.add_on_name": ["Its name.", "Onboarding"],
    reason: ["Why, for people.", "The property seats is missing."],
    previous_plan_code: ["Code of the plan before.", "pro"],
    previous_period: "The period that closed.",
    start: ["Its first instant.", "2026-01-01T00:00:00.000Z"],
    end: ["Its last millisecond.", "2026-01-31T23:59:59.999Z"],
    endpoint_id: ["The endpoint that was called.", IDS.endpoint],
    url: ["Its address.", "https://example.test/hooks"],
  },
  updateWebhook: { enabled: ["true or 1 switches it on, false or 0 off.", true] },
  replayWebhook: { since: ["From this instant on.", "2026-02-01T00:00:00Z"] },
  WebhookDelivery: {
    id: ["Of this attempt.", IDS.delivery],
    attempt: ["Which attempt of the message it was, from 1.", 1],
    status: "`delivered`: the endpoint answered 2xx in time.",
    http_status: ["What the endpoint answered; null: nothing.", 200],
    error: [
      "timeout, dns, tls, connection, blocked_address, signing or http_<status>; null: none.",
      null,
    ],
    reason: ["The error in words; null: none.", null],
    duration_ms: ["How long it took, in milliseconds.", 84],
    response_excerpt: ["The first characters of the endpoint's answer; null: none.", "ok"],
    payload: ["The body that was sent.", { event: "invoice.created" }],
    next_retry_at: ["When it is tried again; null: not any more.", null],
  },
  listWebhookDeliveries: {
    endpoint_id: ["Only those of this endpoint.", IDS.endpoint],
    status: ["Only those that ended so.", "failed"],
    event: ["Only those of this event.", "invoice.created"],
  },
  WebhookMessage: {
    id: ["The webhook-id of its deliveries.", IDS.message],
    body: ["The JSON text that is signed and sent.", '{"event":"invoice.created"}'],
  },
  Dunning: {
    enabled: "Whether steps are sent.",
    steps: "The steps. Each is sent once per overdue invoice, at most one a day.",
    days_after_due: ["Days after the due date.", 3],
    webhook_event: "What is sent then.",
  },
  Clock: {
    mode: ["`frozen`: it stands still until it is advanced.", "frozen"],
    now: ["The project's time.", "2026-02-01T00:00:00.000Z"],
    frozen_at: ["Where it shall stand.", "2026-01-01T00:00:00Z"],
  },
  freezeClock: { frozen_at: ["Where it shall stand.", "2026-01-01T00:00:00Z"] },
  advanceClock: { to: ["Where it shall stand then: later than now.", "2026-02-01T00:00:00Z"] },
  ClockReport: {
    periods_closed: ["How many periods ended.", 1],
    invoices_created: ["How many invoices were issued.", 1],
    billing_failed_count: [
      "Subscriptions that cannot be billed as it stands: GET /v1/subscriptions?billing_error=1.",
      0,
    ],
    dunning_steps: ["How many steps of dunning were sent.", 0],
    events: "What happened, in the order of time.",
    at: ["When it happened, by the project's clock.", "2026-02-01T00:00:00.000Z"],
    resource_id: ["Id of the record that it is about.", IDS.invoice],
  },
  BillingEvent: {
    id: ["Of the entry.", IDS.event],
    resource_type: ["Which kind of record it is about.", "customer"],
    event_type: ["What happened.", "customer.created"],
    payload: ["The essentials of it.", { external_id: "acme" }],
  },
  listBillingEvents: {
    resource_type: ["Only about this kind of record.", "customer"],
    resource_id: ["Only about this record.", IDS.customer],
    event_type: ["Only of this type.", "customer.created"],
    actor_token_id: ["Only by this token.", IDS.token],
    since: ["Only at this instant or later.", "2026-02-01T00:00:00Z"],
    order: ["`asc` follows the log from its beginning. Default: desc.", "asc"],
    start: ["`end`, with order=asc: no rows, and the cursor to read on from later.", "end"],
  },
  getPortal: {
    access: ["Of a signed link: needed where the setting portal_access is signed.", "eyJ…"],
    refresh: ["1 bypasses the kept view and computes a new one.", "1"],
  },
  purgePortalCacheReply: { purged: "True, also where nothing was kept." },
  purgeAllPortalCacheReply: {
    purged: "True, also where nothing was kept.",
    count: ["How many views were dropped.", 12],
  },
  createPortalLink: {
    expires_in: ["Seconds that the link is good for; a week by default, 366 days at most.", 86_400],
    expires_at: ["Until when it is good. Or expires_in.", "2026-02-08T00:00:00Z"],
  },
  createPortalLinkReply: {
    url: [
      "Give it to the customer.",
      `https://billing.example.test/portal/${IDS.customer}?access=…`,
    ],
    expires_at: ["Until when it is good.", "2026-02-08T00:00:00.000Z"],
  },
  revokePortalLinksReply: { revoked: "True." },
  ErrorBody: {
    error: "What is wrong.",
    code: ["For programs. It does not change.", "validation_error"],
    message: ["For people: what is wrong and what helps.", "name is required."],
    retryable: ["Whether repeating the same request is safe and can succeed.", false],
    details: "The fields that are at fault.",
    "error.details.field": ["The field, as a path.", "name"],
    "error.details.code": ["What is wrong with it.", "required"],
    "error.details.message": ["The same for people.", "name is required."],
    existing_id: ["Of a conflict: the record that is there.", IDS.customer],
    request_id: ["Quote it when something looks wrong: the log has the same one.", IDS.request],
  },
  McpServerInfo: {
    name: ["Name of the server.", "dues"],
    title: ["The same for people.", "dues billing"],
    version: ["Version of the service.", "0.1.0"],
    description: ["What it is for.", "Tools for reading billing records and recording payments."],
    protocol: ["What is spoken.", "JSON-RPC 2.0, Model Context Protocol"],
    protocol_versions: ["The versions of the protocol, newest first.", ["2025-06-18"]],
    transport: ["How it is carried.", "streamable-http"],
    endpoint: ["Where to post.", "http://127.0.0.1:8080/v1/mcp"],
    client_config: [
      "For agents that read mcpServers; put a token in place of <API_KEY>.",
      {
        mcpServers: {
          dues: {
            type: "http",
            url: "http://127.0.0.1:8080/v1/mcp",
            headers: { Authorization: "Bearer <API_KEY>", "X-Project-Id": IDS.project },
          },
        },
      },
    ],
    methods: ["The methods.", ["initialize", "ping", "tools/list", "tools/call"]],
    tools: "The tools, with the scope that each needs.",
    "tools.name": ["What to call it by.", "list_customers"],
    "tools.description": ["What it does.", "List customers, newest first."],
    scope: ["The scope of the token that it needs; null: any.", "read"],
  },
  getHealthzReply: { status: ["Always `ok`.", "ok"] },
  getReadyzReply: {
    status: ["`ok`, `held` or `writes_fail`.", "ok"],
    schema_version: ["The newest migration of the database that is needed.", 1],
    warnings: [
      "What an operator should look at: that the service is held; on HEALTH_PORT also faults and weak settings.",
      [],
    ],
    jobs: "The background jobs of this process; on HEALTH_PORT alone where there is one.",
    started_jobs:
      "What calls have asked for and is not done yet; dues doctor tells it of a cluster.",
  },
  JobRun: {
    name: ["Its name, also in the log and in metrics.", "billing"],
    description: ["What `done` counts.", "Webhooks claimed, to be sent at once."],
    pause_ms: ["How long it rests when it has found nothing more to do.", 1_000],
    last_run_at: [
      "When its last run ended, by the clock of the process; null before the first.",
      "2026-03-01T09:30:00.000Z",
    ],
    took_ms: ["How long that run took.", 12],
    done: ["How much that run did; null when it failed.", 3],
    failures: ["How often in a row a run, or a part of one, has failed by now.", 0],
  },
  StartedJobs: {
    kind: [
      "`replan`: a new dunning policy; `resume`, `replay`, `drop`: the queue of an endpoint.",
      "replay",
    ],
    jobs: ["How many of them there are.", 1],
    done: ["How many rows they have done so far.", 12_000],
    oldest_s: ["How many seconds ago the oldest of them was asked for.", 4.2],
  },
};
