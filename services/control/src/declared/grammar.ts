import { CREDENTIAL_FIELDS, isPolicyKey, POLICY_KEYS, SETTING_FIELDS } from "@unigate/core";
import { z } from "zod";

// unigate.yaml, version 1 (DESIGN section 8). Strict: an unknown field is a problem.

const SLUG = /^[A-Za-z0-9_-]{1,64}$/;
export const slug = z.string().regex(SLUG, "expected 1 to 64 letters, digits, - or _");
const text = z.string().min(1, "expected a text that is not empty");
export const anyObject = z.record(z.string(), z.unknown());

/** Where a thing belongs: org-default and all its workspaces unless said. */
const tenant = { organisation: slug.optional(), workspace: slug.optional() };

const limitType = z.enum(["requests", "tokens", "concurrency"]);
const limitValue = z.int().min(0);

interface Limited {
  readonly type: string;
  readonly unit?: string | null | undefined;
}

/** Requests and tokens are counted over a window, concurrency is not. */
export function unitFits({ type, unit }: Limited): boolean {
  return (type === "concurrency") === (unit === undefined || unit === null);
}

/** A schema of limits whose unit goes with their type. */
export function fittingUnit<Schema extends z.ZodType<Limited>>(schema: Schema): Schema {
  return schema.refine(unitFits, { path: ["unit"], error: UNIT_MISFIT });
}
export const UNIT_MISFIT = "expected a unit for requests and tokens, and none for concurrency";

/** Limits on a key or a provider. */
export const rateLimits = z
  .array(fittingUnit(z.strictObject({ type: limitType, unit: z.enum(["rps", "rpm", "rph", "rpd", "rpw"]).nullish(), value: limitValue })))
  .optional();

function providerField(name: string): z.ZodType {
  if (name === "deployments") {
    return z.array(z.strictObject({ deployment_id: text, alias: text, api_version: text, is_default: z.boolean().optional() })).optional();
  }
  return name === "cloudb_service_account_json" ? z.union([anyObject, text]).optional() : text.optional();
}

/** The credentials and settings that providers know, by their own names. */
export const providerFields = Object.fromEntries([...CREDENTIAL_FIELDS, ...SETTING_FIELDS].map((name) => [name, providerField(name)]));

/** Beside the named fields: every credential and setting of core's CREDENTIAL_FIELDS and SETTING_FIELDS. */
const provider = z.strictObject({
  ...providerFields,
  slug,
  provider: text,
  custom_host: z.string().optional(),
  allow_custom_host: z.boolean().optional(),
  rate_limits: rateLimits,
  ...tenant,
});

const config = z.strictObject({
  id: z.string().regex(/^pc-[A-Za-z0-9_-]{1,64}$/, 'expected an id that starts with "pc-", of letters, digits, - or _'),
  name: text.optional(),
  config: anyObject,
  ...tenant,
});

/** What a key allows, declared or saved. */
export const keyRules = {
  defaults: z
    .strictObject({
      config_id: text.nullable().optional(),
      metadata: z.record(z.string(), z.string()).optional(),
      allow_config_override: z.boolean().optional(),
    })
    .optional(),
  rate_limits: rateLimits,
  allowed_models: z.array(text).nullable().optional(),
  allowed_providers: z.array(text).nullable().optional(),
  expires_at: z
    .union([z.iso.datetime({ offset: true }), z.iso.date(), z.int().min(1_000_000_000_000)], {
      error: "expected a date such as 2030-01-31T00:00:00Z, or Unix milliseconds",
    })
    .nullable()
    .optional(),
};

const key = z.strictObject({
  name: text.max(100),
  key: text.optional(),
  key_sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, "expected the SHA-256 of the key as 64 hex digits")
    .optional(),
  type: z.enum(["organisation-service", "workspace-service", "workspace-user"]).optional(),
  scopes: z.array(z.string()).min(1),
  ...keyRules,
  ...tenant,
});

/** What a guardrail does, declared or saved. */
export const guardrailRules = {
  checks: z
    .array(z.strictObject({ id: text, name: text.optional(), parameters: anyObject.optional(), is_enabled: z.boolean().optional() }))
    .min(1)
    .max(100),
  actions: anyObject.optional(),
};

const workspace = z.strictObject({
  id: slug,
  name: text.optional(),
  defaults: z.strictObject({ config_id: text.nullable().optional(), metadata: z.record(z.string(), z.string()).optional() }).optional(),
  organisation: slug.optional(),
});

const guardrail = z.strictObject({
  id: slug,
  name: text.optional(),
  ...guardrailRules,
  ...tenant,
});

const policyKey = z
  .string()
  .max(200)
  .refine(isPolicyKey, { error: `expected metadata.<name>, or one of ${POLICY_KEYS.join(", ")}` });

const conditionValue = z.union([text, z.array(text).min(1).max(1_000)], { error: "expected a text, or a list of texts" });

/** What a policy of rate limits says, declared or saved. Its unit has to fit its type as well: see `fittingUnit`. */
export const policyRules = {
  name: text.max(255).optional(),
  conditions: z.array(z.strictObject({ key: policyKey, value: conditionValue, excludes: z.boolean().optional() })).max(100),
  group_by: z.array(z.strictObject({ key: policyKey })).max(20),
  type: limitType,
  unit: z.enum(["rpm", "rph", "rpd", "rpw"]).nullish(),
  value: limitValue,
  on_store_loss: z.enum(["open", "closed"]).optional(),
};

const rateLimitPolicy = fittingUnit(
  z.strictObject({
    id: slug,
    ...policyRules,
    conditions: policyRules.conditions.optional(),
    group_by: policyRules.group_by.optional(),
    status: z.enum(["active", "archived"]).optional(),
    ...tenant,
  }),
);

const notYet = (what: string) => z.array(z.unknown()).max(0, `${what} are not available yet`).optional();

export const declaredSchema = z.strictObject({
  version: z.literal(1),
  providers: z.array(provider).max(10_000).optional(),
  configs: z.array(config).max(10_000).optional(),
  workspaces: z.array(workspace).max(10_000).optional(),
  keys: z.array(key).max(10_000).optional(),
  guardrails: z.array(guardrail).max(10_000).optional(),
  policies: z
    .strictObject({ rate_limits: z.array(rateLimitPolicy).max(1_000).optional(), usage_limits: notYet("policies of usage limits") })
    .optional(),
  prompts: notYet("saved prompts"),
});

export type Declared = z.infer<typeof declaredSchema>;
export type DeclaredProvider = NonNullable<Declared["providers"]>[number];
export type DeclaredConfig = NonNullable<Declared["configs"]>[number];
export type DeclaredKey = NonNullable<Declared["keys"]>[number];
export type DeclaredWorkspace = NonNullable<Declared["workspaces"]>[number];
export type DeclaredGuardrail = NonNullable<Declared["guardrails"]>[number];
export type DeclaredRateLimits = DeclaredKey["rate_limits"];
export type DeclaredRateLimitPolicy = z.infer<typeof rateLimitPolicy>;
