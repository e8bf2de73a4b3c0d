import { z } from "zod";

// One log record: what became of one target of one request (a request that reached no target makes one as well).
// Schema version 1 is additive: fields may be added (optional, for what older writers left), none changes its meaning. Names are snake_case, times are Unix ms,
// durations are ms, money is micro-USD. Readers keep fields they do not know.

export const SCHEMA_VERSION = 1;

const id = z.string();
const milliseconds = z.number().min(0);
const count = z.number().min(0);

const usage = z
  .object({
    input: count.describe("prompt tokens neither read from nor written to a provider's cache"),
    cache_read: count.describe("prompt tokens read from a provider's cache"),
    cache_write_5m: count.describe("prompt tokens written to a provider's cache for 5 minutes"),
    cache_write_1h: count.describe("prompt tokens written to a provider's cache for 1 hour"),
    output_text: count.describe("generated tokens other than reasoning, audio and image"),
    reasoning: count,
    audio_in: count,
    audio_out: count,
    image: count,
    estimated: z.boolean().describe("counted by the gateway because the provider did not say"),
    units: z.record(z.string(), z.number()).describe("anything billed otherwise: search_units, seconds"),
  })
  .describe("tokens in disjoint buckets: their sum is what a provider bills");

const fault = z.object({
  code: z.string().nullable().describe("word of the gateway's error table, or the provider's own code"),
  type: z.string().describe("type of the public error envelope"),
  message: z.string().describe("never holds a secret; at most 2,000 characters"),
  blame: z.enum(["client", "gateway", "upstream", "network"]).describe("whose fault it was"),
});

const retry = z.object({
  at_ms: milliseconds.optional().describe("when this try began, from the attempt's start"),
  took_ms: milliseconds.optional().describe("how long it took"),
  status: z.number().int().nullable().describe("status that was retried; null when no answer came"),
  wait_ms: milliseconds.describe("wait before the next try"),
  error: z.string().nullable().describe("code of the fault when no answer came"),
});

const timings = z.object({
  total_ms: milliseconds.describe("from the attempt's start to its last byte"),
  upstream_ms: milliseconds.nullable().describe("until the provider's response head, last try"),
  first_token_ms: milliseconds.nullable().describe("until the first content of a stream reached the client"),
  retry_wait_ms: milliseconds.describe("sum of the waits between tries"),
  cache_ms: milliseconds.nullable().describe("cache look-up"),
  cache_at_ms: milliseconds.nullable().optional().describe("when the cache look-up began, from the attempt's start"),
  guardrail_ms: milliseconds.nullable().describe("guardrails before and after"),
  plan_at_ms: milliseconds
    .nullable()
    .optional()
    .describe("when planning began, from the request's arrival; null when nothing was to be chosen"),
  plan_ms: milliseconds.nullable().optional().describe("planning the order of targets"),
});

const head = z.object({
  id: z.string().min(1).max(64).describe("UUID version 7, unique for ever: a record that comes twice is stored once"),
  schema_version: z.literal(SCHEMA_VERSION),
  type: z.literal("request").describe("kind of record; others (feedback) may follow"),
  time: z.number().int().min(0).describe("Unix ms at which the attempt began; of a refused request, at which it came"),
  trace_id: id.describe("shared by all records of one request and by the client's own trace"),
  span_id: id,
  parent_span_id: id.nullable(),
  span_name: z.string(),
  sampled: z.boolean().optional().describe("its spans are exported: by the flag of the client's traceparent, else by UNIGATE_TRACE_SAMPLE"),
  request_id: id.describe("shared by all records of one request: x-request-id"),
  attempt: z.number().int().min(0).describe("0 for the first target tried, 1 for the next"),
  last: z.boolean().optional().describe("no other record of this request follows"),
  received_at: z.number().int().min(0).optional().describe("Unix ms at which the request came"),
  organisation_id: id.describe("empty when the caller could not be identified"),
  workspace_id: id.describe("empty when the caller could not be identified"),
  api_key_id: id.nullable().describe("id of the gateway key, never its text"),
  config_id: id.nullable().describe("id of the saved config, or sha256:<hex> of an inline one without its credentials"),
  config_version: z.string().nullable(),
  option_path: z.string().nullable().describe("target within the config: config.targets[1]"),
  provider: z.string().nullable().describe("identifier of the catalogue: openai"),
  provider_slug: z.string().nullable().describe("saved provider that was used"),
  server_address: z.string().nullable().optional().describe("host that was called; null when it is not known before the call"),
  model: z.string().nullable().describe("model as it was requested, without @slug/"),
  response_model: z.string().nullable().describe("model that the provider says it used"),
  surface: z.string().describe("endpoint's shape: chat, proxy"),
  method: z.string(),
  path: z.string().describe("path below /v1, without the query"),
  stream: z.boolean(),
  status: z.number().int().describe("HTTP status of this attempt's outcome"),
  outcome: z
    .enum(["success", "failed", "refused", "denied", "cancelled", "cache_hit", "interrupted"])
    .describe(
      "refused: by key, limit or validation before any target; denied: by a guardrail; cancelled: the client left; interrupted: the gateway died",
    ),
  error: fault.nullable(),
  usage: usage.nullable(),
  cost_micro_usd: z
    .number()
    .int()
    .min(0)
    .nullable()
    .describe("by the list prices of its time; null when the price is not known, never 0 for that"),
  cache_status: z.string().nullable().describe("HIT, SEMANTIC HIT, MISS, REFRESH, DISABLED"),
  retries: z.array(retry).describe("tries of this target before the last one"),
  finish_reason: z.string().nullable(),
  timings,
  metadata: z.record(z.string(), z.string()).describe("of request, key and workspace, merged; values cut at 128 characters"),
  decision: z.record(z.string(), z.unknown()).nullable().describe("why this target: planner, breakers, limits"),
  hook_results: z.unknown().describe("verdicts of the guardrails, as in the answer; null when none ran"),
});

const message = z.object({
  headers: z.record(z.string(), z.string()).nullable().describe("without credentials"),
  body: z.unknown().describe("JSON value, or text when it is no JSON or was truncated; null when not kept"),
  truncated: z.boolean().describe("the body was cut, or dropped to save space"),
});

/** A whole record as it is stored and published; unknown fields are kept. */
export const logRecordSchema = head.extend({ request: message.nullable(), response: message.nullable() }).loose();

/** A record without its bodies. */
export type LogHead = z.infer<typeof head>;
/** A request or an answer inside a record. */
export type LogMessage = z.infer<typeof message>;
export type LogRecord = LogHead & { request: LogMessage | null; response: LogMessage | null };
export type LogUsage = z.infer<typeof usage>;
