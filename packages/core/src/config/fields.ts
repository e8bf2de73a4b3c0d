import { isObject, type JsonObject } from "../json.ts";

/** Other spellings that saved configs of the field carry, and the field each stands for (DESIGN section 1). */
const EXACT_ALIASES: ReadonlyMap<string, string> = new Map([
  ["strict_open_ai_compliance", "strict_compat_compliance"],
  ["openai_organization", "provider_organization"],
  ["openai_project", "provider_project"],
]);

const PREFIX_ALIASES: readonly (readonly [string, string])[] = [
  ["aws_", "cloud_"],
  ["vertex_", "cloudb_"],
  ["azure_", "cloudc_"],
];

/** Fields whose values are secrets: cut out before a config is hashed, stored, planned or logged. */
export const CREDENTIAL_FIELDS: readonly string[] = [
  "api_key",
  "cloud_access_key_id",
  "cloud_secret_access_key",
  "cloud_session_token",
  "cloudb_service_account_json",
  "cloudc_entra_client_secret",
];

/** Non-secret fields of a target that only its provider understands. */
export const SETTING_FIELDS: readonly string[] = [
  "resource_name",
  "deployment_id",
  "api_version",
  "deployments",
  "provider_organization",
  "provider_project",
  "cloud_region",
  "cloud_auth_type",
  "cloud_role_arn",
  "cloud_external_id",
  "cloudb_project_id",
  "cloudb_region",
  "cloudc_region",
  "cloudc_deployment_name",
  "cloudc_deployment_type",
  "cloudc_endpoint_name",
  "cloudc_api_version",
  "cloudc_resource_name",
  "cloudc_deployment_id",
  "cloudc_model_name",
  "cloudc_auth_mode",
  "cloudc_entra_tenant_id",
  "cloudc_entra_client_id",
  "cloudc_entra_scope",
  "cloudc_foundry_url",
];

/** Settings that decide the host a credential is sent to. */
export const ADDRESS_SETTINGS: readonly string[] = [
  "resource_name",
  "cloud_region",
  "cloudb_region",
  "cloudc_region",
  "cloudc_deployment_name",
  "cloudc_deployment_type",
  "cloudc_endpoint_name",
  "cloudc_resource_name",
  "cloudc_foundry_url",
];

/** The gateway's own name of a config field. */
export function fieldName(name: string): string {
  const exact = EXACT_ALIASES.get(name);
  if (exact !== undefined) return exact;
  for (const [from, to] of PREFIX_ALIASES) if (name.startsWith(from)) return to + name.slice(from.length);
  return name;
}

/** The other spellings of a field. */
export function aliasesOf(field: string): string[] {
  const aliases = [...EXACT_ALIASES].filter(([, own]) => own === field).map(([alias]) => alias);
  for (const [from, to] of PREFIX_ALIASES) if (field.startsWith(to)) aliases.push(from + field.slice(to.length));
  return aliases;
}

/** A config with every aliased field renamed, in all its targets. What is no config is returned as it is. */
export function renameAliases(config: unknown, depth = 0): unknown {
  if (!isObject(config) || depth > 50) return config;
  const renamed: JsonObject = {};
  for (const [name, value] of Object.entries(config)) {
    if (name === "__proto__") continue;
    const own = fieldName(name);
    if (own !== name && Object.hasOwn(config, own)) continue;
    renamed[own] = name === "targets" && Array.isArray(value) ? value.map((target) => renameAliases(target, depth + 1)) : value;
  }
  const cache = renamed["cache"];
  if (typeof cache === "string") renamed["cache"] = { mode: cache };
  const retry = renamed["retry"];
  if (isObject(retry) && "use_retry_after_header" in retry) {
    const { use_retry_after_header, ...rest } = retry;
    renamed["retry"] = { use_retry_after_headers: use_retry_after_header, ...rest };
  }
  return renamed;
}
