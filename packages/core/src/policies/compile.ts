import type { PolicySetResource, RateLimitPolicy } from "../resources.ts";
import { bucketOf } from "./bucket.ts";
import { type ConditionTest, compileCondition } from "./condition.ts";
import type { PolicyContext } from "./context.ts";

/** A policy that counts a request, and whose share the request takes from. */
export interface PolicyMatch {
  readonly policy: RateLimitPolicy;
  readonly bucket: string;
}

/** The active policies of an organisation, ready to be asked. */
export interface CompiledPolicies {
  /** What counts a request once. */
  readonly request: readonly CompiledPolicy[];
  /** What counts each target that is tried: those that look at provider, virtual key, prompt or model. */
  readonly target: readonly CompiledPolicy[];
}

interface CompiledPolicy {
  readonly policy: RateLimitPolicy;
  readonly tests: readonly ConditionTest[];
  readonly groups: readonly string[];
}

/** Another target may have another one of these. */
const OF_TARGETS: ReadonlySet<string> = new Set(["virtual_key", "provider", "prompt", "model"]);

const compiled = new WeakMap<PolicySetResource, CompiledPolicies>();

/** The compiled form of a set, made once an object: a set that changes is another object. Of an id that stands twice the first counts. */
export function policiesOf(set: PolicySetResource): CompiledPolicies {
  let known = compiled.get(set);
  if (known === undefined) compiled.set(set, (known = compile(set)));
  return known;
}

/** Every policy that counts the request. */
export function matchPolicies(policies: readonly CompiledPolicy[], context: PolicyContext): PolicyMatch[] {
  const matches: PolicyMatch[] = [];
  for (const { policy, tests, groups } of policies) {
    if (policy.workspace_id !== null && policy.workspace_id !== context.values.workspace_id) continue;
    if (!tests.every((test) => test(context))) continue;
    const bucket = bucketOf(groups, context);
    if (bucket !== null) matches.push({ policy, bucket });
  }
  return matches;
}

function compile(set: PolicySetResource): CompiledPolicies {
  const request: CompiledPolicy[] = [];
  const target: CompiledPolicy[] = [];
  const seen = new Set<string>();
  for (const policy of set.rate_limits) {
    if (policy.status !== "active" || seen.has(policy.id)) continue;
    seen.add(policy.id);
    const groups = policy.group_by.map(({ key }) => key);
    const keys = [...policy.conditions.map(({ key }) => key), ...groups];
    const list = keys.some((key) => OF_TARGETS.has(key)) ? target : request;
    list.push({ policy, tests: policy.conditions.map(compileCondition), groups });
  }
  return { request, target };
}
