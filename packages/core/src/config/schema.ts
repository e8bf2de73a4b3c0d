import { z } from "zod";
import { LONGEST_TIMER_MS } from "../cancel.ts";
import { isObject, type JsonObject } from "../json.ts";
import { namesChecks } from "./hooks.ts";

// The config object of spec section 2.1 with what DESIGN 8.2 adds. One description, made twice: strict for what is
// saved, tolerant for what comes inline.

const anyObject = z.record(z.string(), z.unknown());
/** Kept as it is: a copy would lose the key `__proto__`, and a query without keys always holds. */
const query = z.unknown().refine(isObject, "expected an object").meta({ type: "object" }) as z.ZodType<JsonObject>;
const status = z.int().min(100).max(599);
const statusText = z
  .string()
  .regex(/^[1-5]\d\d$/, "expected a status from 100 to 599")
  .transform(Number);
/** Written as text too in configs of the field (spec 2.1). */
const statuses = z.array(z.union([status, statusText], { error: "expected a status from 100 to 599" }));
/** A span of time that a timer can wait, ms. */
const milliseconds = z.int().min(1).max(LONGEST_TIMER_MS);

const MAX_HASH_FIELDS = 20;
/** Longest time for which a sticky choice is kept: a year. */
const LONGEST_TTL_S = 31_536_000;

/** A field's message says what would be right; the path is added by whoever reports it. */
function makeSchemas(strict: boolean) {
  const object = <T extends z.core.$ZodLooseShape>(shape: T) => (strict ? z.strictObject(shape) : z.object(shape));

  const sticky = object({
    enabled: z.boolean(),
    hash_fields: z
      .array(z.string().regex(/^(metadata|params|headers)\./, "expected a field that starts with metadata., params. or headers."))
      .max(MAX_HASH_FIELDS)
      .optional(),
    ttl: z.int().min(1).max(LONGEST_TTL_S).optional(),
  });

  const breaker = object({
    failure_threshold: z.number().min(1).optional(),
    failure_threshold_percentage: z.number().min(1).max(100).optional(),
    minimum_requests: z.int().min(1).optional(),
    cooldown_interval: z.number().min(30_000),
    failure_status_codes: statuses.optional(),
  });

  const strategy = object({
    mode: z.enum(["single", "loadbalance", "fallback", "conditional"]),
    conditions: z.array(object({ query, then: z.string() })).optional(),
    default: z.string().optional(),
    on_status_codes: statuses.optional(),
    sticky: sticky.optional(),
    select: z.enum(["weighted", "least_latency", "least_busy", "lowest_cost"]).optional(),
    hedge: object({
      delay_ms: z.int().min(0).max(LONGEST_TIMER_MS).optional(),
      percentile: z.number().min(1).max(99).optional(),
      max_extra_percent: z.number().min(0).max(100).optional(),
    }).optional(),
    cb_config: breaker.optional(),
  });

  const feedback = object({ value: z.number().optional(), weight: z.number().optional(), metadata: anyObject.optional() });
  const action = object({ feedback: feedback.optional(), deny: z.boolean().optional() });
  const hook = object({
    id: z.string().min(1),
    type: z.enum(["guardrail", "mutator"]).optional(),
    async: z.boolean().optional(),
    sequential: z.boolean().optional(),
    deny: z.boolean().optional(),
    checks: z
      .array(z.looseObject({ id: z.string().min(1), parameters: anyObject.optional(), is_enabled: z.boolean().optional() }))
      .optional(),
    on_fail: action.optional(),
    on_success: action.optional(),
  });
  // Every further property of the object form is a check with its parameters, so it is open in both.
  const openGuardrail = z
    .object({ ...hook.shape, id: z.string().min(1).optional(), guardrail_version_id: z.string().optional() })
    .catchall(anyObject)
    .refine(namesChecks, "expected an id or at least one check");
  const guardrail = z.union([z.string().min(1), openGuardrail], { error: "expected a guardrail id or an object with checks" });

  const text = z.string();
  const node = object({
    strategy: strategy.optional(),
    name: text.optional(),
    strict_compat_compliance: z.boolean().optional(),
    provider: z.string().min(1).optional(),
    api_key: text.optional(),
    virtual_key: z.string().min(1).optional(),
    prompt_id: z.string().min(1).optional(),
    custom_host: text.optional(),
    passthrough: z.boolean().optional(),
    override_params: anyObject.optional(),
    default_params: anyObject.optional(),
    drop_params: z.array(z.string().min(1)).optional(),
    request_timeout: milliseconds.optional(),
    timeouts: object({
      connect_ms: milliseconds.optional(),
      first_token_ms: milliseconds.optional(),
      idle_ms: milliseconds.optional(),
    }).optional(),
    cache: object({
      mode: z.enum(["simple", "semantic"]),
      max_age: z.number().optional(),
      threshold: z.number().min(0).max(1).optional(),
      embedding: anyObject.optional(),
    }).optional(),
    retry: object({
      attempts: strict ? z.int().min(0).max(5) : z.int().min(0),
      on_status_codes: statuses.optional(),
      use_retry_after_headers: z.boolean().optional(),
    }).optional(),
    cb_config: breaker.optional(),
    weight: z.number().min(0).optional(),
    on_status_codes: statuses.optional(),
    forward_headers: z.array(z.string()).optional(),
    get targets() {
      return z.array(node).min(1).optional();
    },
    resource_name: text.optional(),
    deployment_id: text.optional(),
    api_version: text.optional(),
    deployments: z.array(object({ deployment_id: text, alias: text, api_version: text, is_default: z.boolean().optional() })).optional(),
    after_request_hooks: z.array(hook).optional(),
    before_request_hooks: z.array(hook).optional(),
    input_guardrails: z.array(guardrail).optional(),
    output_guardrails: z.array(guardrail).optional(),
    cloud_access_key_id: text.optional(),
    cloud_secret_access_key: text.optional(),
    cloud_session_token: text.optional(),
    cloud_region: text.optional(),
    cloud_auth_type: text.optional(),
    cloud_role_arn: text.optional(),
    cloud_external_id: text.optional(),
    cloudb_project_id: text.optional(),
    cloudb_region: text.optional(),
    cloudb_service_account_json: z.union([anyObject, text], { error: "expected an object, or its JSON as text" }).optional(),
    cloudc_region: text.optional(),
    cloudc_deployment_name: text.optional(),
    cloudc_deployment_type: z.enum(["serverless", "managed"]).optional(),
    cloudc_endpoint_name: text.optional(),
    cloudc_api_version: text.optional(),
    cloudc_resource_name: text.optional(),
    cloudc_deployment_id: text.optional(),
    cloudc_model_name: text.optional(),
    cloudc_auth_mode: text.optional(),
    cloudc_entra_tenant_id: text.optional(),
    cloudc_entra_client_id: text.optional(),
    cloudc_entra_client_secret: text.optional(),
    cloudc_entra_scope: text.optional(),
    cloudc_foundry_url: text.optional(),
    provider_organization: text.optional(),
    provider_project: text.optional(),
    /** Put in place of credentials by control; never accepted from a caller. */
    sealed_credentials: text.optional(),
  });
  return node;
}

export const savedConfigSchema = makeSchemas(true);
export const inlineConfigSchema = makeSchemas(false);

/** A config whose shape is right; its rules are checked by `compileConfig`. */
export type ConfigNode = z.infer<typeof inlineConfigSchema>;
