import { parsePath } from "../drop-params.ts";
import type { ConfigNode } from "./schema.ts";
import type { ConfigProblem } from "./types.ts";

/** Providers that work without any credential, so that naming them is enough (DESIGN 8.1). */
const KEYLESS = new Set(["mock", "ollama", "triton"]);

/** What makes a config mean something, beside a destination of its own (spec 2.1, DESIGN 8.1). */
export const SUFFICIENT = [
  "cache",
  "retry",
  "prompt_id",
  "forward_headers",
  "request_timeout",
  "before_request_hooks",
  "after_request_hooks",
  "input_guardrails",
  "output_guardrails",
  "passthrough",
  "default_params",
  "drop_params",
] as const;

/** What a top-level passthrough cannot stand beside (spec 2.1). */
export const EXCLUSIVE = [
  "targets",
  "strategy",
  "override_params",
  "before_request_hooks",
  "after_request_hooks",
  "input_guardrails",
  "output_guardrails",
] as const;

/** The rules that a schema cannot state. `saved` configs must carry their credential. */
export function nodeProblems(node: ConfigNode, path: string, isTarget: boolean, saved: boolean): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const add = (field: string, message: string) => problems.push({ path: joined(path, field), message });
  const at = strategyProblems(node);
  for (const [field, message] of at) add(field, message);

  if (node.cb_config !== undefined && thresholdMissing(node.cb_config)) add("cb_config", MISSING_THRESHOLD);
  if (isTarget && !hasDestination(node)) {
    add("", "a target must name where it goes: provider, virtual_key, passthrough, prompt_id, or strategy with targets");
  } else if (!isTarget && !hasDestination(node) && !SUFFICIENT.some((field) => node[field] !== undefined)) {
    add(
      "",
      "expected at least one of provider, virtual_key, strategy with targets, passthrough, retry, cache, request_timeout, hooks or guardrails",
    );
  }
  if (saved && node.provider !== undefined && !node.provider.startsWith("@") && !hasCredential(node)) {
    add(
      "provider",
      `"${node.provider.slice(0, MAX_SHOWN)}" needs a credential: api_key, a custom_host, its cloud fields, or a saved provider written "@slug"`,
    );
  }
  if (!isTarget && node.passthrough === true) {
    for (const field of EXCLUSIVE) if (node[field] !== undefined) add(field, "cannot be combined with a top-level passthrough");
  }
  for (const [index, name] of (node.drop_params ?? []).entries()) {
    if (name.length > MAX_PATH) add(`drop_params[${index}]`, `a path is at most ${MAX_PATH} characters`);
    else if (parsePath(name) === null) add(`drop_params[${index}]`, "expected a path such as a.b, a[0].b or a[*].b");
  }
  return problems;
}

const MAX_PATH = 500;
/** Most of a config's own words that a problem repeats, characters. */
export const MAX_SHOWN = 80;

const MISSING_THRESHOLD = "expected failure_threshold or failure_threshold_percentage";

function strategyProblems(node: ConfigNode): [string, string][] {
  const { strategy, targets } = node;
  if (strategy === undefined)
    return targets === undefined ? [] : [["strategy", 'expected a strategy beside targets, such as {"mode":"fallback"}']];
  const problems: [string, string][] = [];
  if (targets === undefined) problems.push(["targets", "a strategy needs a list of targets"]);
  if (strategy.mode === "conditional") {
    if (strategy.conditions === undefined || strategy.conditions.length === 0)
      problems.push(["strategy.conditions", "conditional mode needs conditions"]);
    if (strategy.default === undefined) problems.push(["strategy.default", "conditional mode needs the name of a default target"]);
  }
  if (strategy.mode === "loadbalance" && targets !== undefined && targets.every((target) => target.weight === 0)) {
    problems.push(["targets", "every weight is 0, so no target could ever be chosen"]);
  }
  if (strategy.sticky !== undefined && strategy.mode !== "loadbalance")
    problems.push(["strategy.sticky", 'can only be combined with mode "loadbalance"']);
  if (strategy.select !== undefined && strategy.mode !== "loadbalance")
    problems.push(["strategy.select", 'can only be combined with mode "loadbalance"']);
  if (strategy.hedge !== undefined && (strategy.hedge.delay_ms === undefined) === (strategy.hedge.percentile === undefined))
    problems.push(["strategy.hedge", "expected either delay_ms or percentile"]);
  if (strategy.hedge !== undefined && strategy.mode !== "fallback" && strategy.mode !== "loadbalance")
    problems.push(["strategy.hedge", 'can only be combined with mode "fallback" or "loadbalance"']);
  if (strategy.cb_config !== undefined && thresholdMissing(strategy.cb_config)) problems.push(["strategy.cb_config", MISSING_THRESHOLD]);
  return problems;
}

function thresholdMissing(breaker: NonNullable<ConfigNode["cb_config"]>): boolean {
  return breaker.failure_threshold === undefined && breaker.failure_threshold_percentage === undefined;
}

/** Fields that name where a node goes. */
export const DESTINATIONS = ["provider", "virtual_key", "prompt_id"] as const;

function hasDestination(node: ConfigNode): boolean {
  return (
    DESTINATIONS.some((field) => node[field] !== undefined) ||
    node.passthrough === true ||
    (node.strategy !== undefined && node.targets !== undefined) ||
    modelSlug(node) !== null
  );
}

/**
 * The slug in `override_params.model: "@slug/model"`, which names a saved provider too (behaviour 1.1). Workers AI
 * names ("@cf/...", "@hf/...") are models.
 */
export function modelSlug(node: ConfigNode): string | null {
  const model = node.override_params?.["model"];
  if (typeof model !== "string" || !model.startsWith("@") || /^@[ch]f\//.test(model)) return null;
  const slash = model.indexOf("/");
  return slash > 1 ? model.slice(1, slash) : null;
}

function hasCredential(node: ConfigNode): boolean {
  const provider = node.provider ?? "";
  if (KEYLESS.has(provider)) return true;
  if (node.api_key !== undefined || node.custom_host !== undefined || node.sealed_credentials !== undefined) return true;
  if (node.cloud_access_key_id !== undefined && node.cloud_secret_access_key !== undefined) return true;
  if (node.cloud_role_arn !== undefined || node.cloud_auth_type !== undefined) return true;
  if (node.cloudb_region !== undefined && (node.cloudb_service_account_json !== undefined || node.cloudb_project_id !== undefined))
    return true;
  if (node.cloudc_auth_mode !== undefined || node.cloudc_foundry_url !== undefined) return true;
  if (node.cloudc_deployment_type === undefined) return false;
  const deployed = node.cloudc_deployment_name !== undefined && node.cloudc_region !== undefined && node.cloudc_api_version !== undefined;
  return deployed || node.cloudc_endpoint_name !== undefined;
}

/** A path and a field below it: "targets[0]" + "retry" is "targets[0].retry". */
export function joined(path: string, field: string): string {
  if (path === "") return field;
  return field === "" ? path : `${path}.${field}`;
}
