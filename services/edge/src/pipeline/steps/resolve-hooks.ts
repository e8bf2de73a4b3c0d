import {
  type CompiledLeaf,
  GatewayError,
  type GuardrailResource,
  type HookRule,
  headerForCheck,
  isObject,
  type JsonObject,
  jsonOf,
} from "@unigate/core";
import type { Resolution } from "@unigate/resolve";
import type { Run } from "../run-state.ts";

/** A hook as it holds for an attempt: a saved guardrail's own actions where the config gives no others. */
export interface Hook {
  readonly id: string;
  /** What the config says of it; null = its id only. */
  readonly inlineJson: Buffer | null;
  /** Runs after the answer and changes nothing. */
  readonly async: boolean;
  /** Whether it can end in a denial; true when that is not known. */
  readonly mayDeny: boolean;
  /** What it comes to when no check of it can be run. */
  readonly whenErrored: "pass" | "soft" | "deny";
  /** Client headers that its checks name, lower case. */
  readonly forwardHeaders: readonly string[];
}

/** The hooks of one target. */
export interface LeafHooks {
  readonly before: readonly Hook[];
  readonly after: readonly Hook[];
}

export const NO_HOOKS: LeafHooks = { before: [], after: [] };

/** What a hook says when read alone, or with the guardrail that it was read with. */
interface Read {
  readonly saved: GuardrailResource | null;
  readonly hook: Hook;
}

/** Rules live as long as their config, and what control knows stays the same object until it changes. */
const remembered = new WeakMap<HookRule, Read>();

/**
 * The effective hooks of a leaf, saved ones found in the cache of the resolver (behaviour 7.1). One that
 * control cannot be asked for goes by the config alone, and as one that may deny. Throws unknown_guardrail, and
 * GatewayError when the call is cancelled first.
 */
export async function resolveHooks(run: Run, leaf: CompiledLeaf): Promise<LeafHooks> {
  const { beforeHooks, afterHooks } = leaf;
  if (beforeHooks.length === 0 && afterHooks.length === 0) return NO_HOOKS;
  const [before, after] = await Promise.all([resolveAll(run, beforeHooks), resolveAll(run, afterHooks)]);
  return { before, after };
}

function resolveAll(run: Run, rules: readonly HookRule[]): Promise<Hook[]> {
  return Promise.all(rules.map((rule) => resolveHook(run, rule)));
}

async function resolveHook(run: Run, rule: HookRule): Promise<Hook> {
  const known = remembered.get(rule);
  if (known !== undefined && bringsChecks(rule)) return known.hook;
  const saved = bringsChecks(rule) ? null : await savedGuardrail(run, rule.id);
  if (known !== undefined && known.saved === saved) return known.hook;
  const hook = effectiveHook(rule, saved);
  remembered.set(rule, { saved, hook });
  return hook;
}

async function savedGuardrail(run: Run, id: string): Promise<GuardrailResource | null> {
  const { resolver, log } = run.deps;
  const ref = { kind: "guardrail", id, tenant: run.request.principal.tenant } as const;
  const known = resolver.peek<GuardrailResource>(ref);
  if (known !== undefined) return existing(known, id);
  let found: Resolution<GuardrailResource> | null;
  try {
    found = await resolver.resolve<GuardrailResource>(ref, run.call);
  } catch (error) {
    if (run.call.cancel.cancelled) throw error;
    log.warn({ traceId: run.request.trace.traceId, guardrail: id, error: String(error) }, "a saved guardrail could not be read");
    return null;
  }
  return existing(found, id);
}

/** A misspelt guardrail must not let everything pass (behaviour 1.2). */
function existing(found: Resolution<GuardrailResource> | null, id: string): GuardrailResource {
  if (found !== null) return found.value;
  throw new GatewayError("unknown_guardrail", `There is no saved guardrail "${id.slice(0, 80)}" in this workspace.`);
}

/** What the config says of a hook; nothing when it only names it. */
function configOf(rule: HookRule): JsonObject {
  const json = rule.inlineJson === null ? null : jsonOf(rule.inlineJson);
  return isObject(json) ? json : {};
}

function bringsChecks(rule: HookRule): boolean {
  return Array.isArray(configOf(rule)["checks"]);
}

/** A hook with the guardrail that it names; null = it brings its own checks, or the guardrail cannot be had. */
export function effectiveHook(rule: HookRule, saved: GuardrailResource | null): Hook {
  const config = configOf(rule);
  const isKnown = saved !== null || bringsChecks(rule);
  const actions: JsonObject = { ...saved?.actions, ...config };
  const checks = enabled(saved?.checks ?? config["checks"]);
  const onFail = actions["on_fail"];
  const onSuccess = actions["on_success"];
  const deniesPass = isObject(onSuccess) && onSuccess["deny"] === true;
  const deniesFailure = typeof actions["deny"] === "boolean" ? actions["deny"] : isObject(onFail) && onFail["deny"] === true;
  const fails = checks.some((check) => parametersOf(check)["failOnError"] === true);
  const isEmpty = isKnown && checks.length === 0;
  const isAsync = actions["async"] === true;
  return {
    id: rule.id,
    inlineJson: rule.inlineJson,
    async: isAsync,
    mayDeny: !isAsync && !isEmpty && (!isKnown || deniesPass || deniesFailure),
    whenErrored: isAsync || isEmpty ? "pass" : !fails ? (deniesPass ? "deny" : "pass") : deniesFailure ? "deny" : "soft",
    forwardHeaders: checks.flatMap(namedHeaders),
  };
}

function enabled(checks: unknown): JsonObject[] {
  return Array.isArray(checks) ? checks.filter((check) => isObject(check) && check["is_enabled"] !== false) : [];
}

function parametersOf(check: JsonObject): JsonObject {
  return isObject(check["parameters"]) ? check["parameters"] : {};
}

/** Those that may not be passed on are the check's error to tell. */
function namedHeaders(check: JsonObject): string[] {
  const names = parametersOf(check)["forwardHeaders"];
  if (!Array.isArray(names)) return [];
  return names.map((name) => (typeof name === "string" ? headerForCheck(name) : null)).filter((name) => name !== null);
}
