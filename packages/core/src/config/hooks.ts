import { createHash } from "node:crypto";
import { bufferOfJson, isObject, type JsonObject } from "../json.ts";
import type { HookRule } from "./types.ts";

/** The fields of a guardrail item that are no checks. */
export const OWN_FIELDS = new Set(["id", "type", "deny", "on_fail", "on_success", "async", "sequential", "guardrail_version_id", "checks"]);

/** Whether a guardrail item says what to run: a saved guardrail by its id, or checks. */
export function namesChecks(item: JsonObject): boolean {
  if (item["id"] !== undefined || (Array.isArray(item["checks"]) && item["checks"].length > 0)) return true;
  return Object.keys(item).some((key) => !OWN_FIELDS.has(key));
}

/**
 * A hook of `before_request_hooks` or `after_request_hooks`. Without checks it is a saved guardrail, and the rest
 * overrides its saved actions (behaviour 7.1).
 */
export function hookRule(hook: JsonObject): HookRule {
  const id = String(hook["id"]);
  const onlyId = Object.keys(hook).every((key) => key === "id");
  return { id, inlineJson: onlyId ? null : bufferOfJson(withActionDeny(hook)) };
}

/** An item of `input_guardrails` or `output_guardrails`: a saved id, or checks as properties. */
export function guardrailRule(item: unknown, phase: "input" | "output"): HookRule {
  if (!isObject(item)) return { id: String(item), inlineJson: null };
  const checks: JsonObject[] = [];
  const hook: JsonObject = { type: "guardrail" };
  for (const [key, value] of Object.entries(item)) {
    if (OWN_FIELDS.has(key)) hook[key] = value;
    else checks.push({ id: key.includes(".") ? key : `default.${key}`, parameters: value, is_enabled: true });
  }
  if (checks.length > 0) hook["checks"] = [...(Array.isArray(hook["checks"]) ? hook["checks"] : []), ...checks];
  if (typeof hook["id"] !== "string") {
    const digest = createHash("sha256").update(JSON.stringify(item)).digest("hex").slice(0, 8);
    hook["id"] = `${phase}_guardrail_${digest}`;
  }
  return hookRule(hook);
}

/** `on_fail.deny` is another place to write `deny` (spec 2.6, 2.7). */
function withActionDeny(hook: JsonObject): JsonObject {
  const onFail = hook["on_fail"];
  if (hook["deny"] === undefined && isObject(onFail) && typeof onFail["deny"] === "boolean") return { ...hook, deny: onFail["deny"] };
  return hook;
}
