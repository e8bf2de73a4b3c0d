import type { RateLimit, RateLimitPolicy } from "@unigate/core";
import type { DeclaredRateLimitPolicy, DeclaredRateLimits } from "./declared/grammar.ts";
import type { Draft } from "./item.ts";
import { DEFAULT_ORGANISATION } from "./tenants.ts";

/** The limits of a declared key or provider. */
export function rateLimitsOf(declared: DeclaredRateLimits): RateLimit[] {
  return (declared ?? []).map(({ type, unit = null, value }) => ({ type, unit, value }));
}

/**
 * Declared policies. Their drafts belong to the organisation even where a policy holds for one workspace only: what is
 * counted is known by the policy's id, which therefore stands once in an organisation.
 */
export function declaredRateLimitPolicies(declared: readonly DeclaredRateLimitPolicy[]): Draft[] {
  return declared.map((policy) => {
    const json: RateLimitPolicy = {
      id: policy.id,
      name: policy.name ?? null,
      organisation_id: policy.organisation ?? DEFAULT_ORGANISATION,
      workspace_id: policy.workspace ?? null,
      conditions: (policy.conditions ?? []).map(({ key, value, excludes = false }) => ({ key, value, excludes })),
      group_by: policy.group_by ?? [],
      type: policy.type,
      unit: policy.unit ?? null,
      value: policy.value,
      status: policy.status ?? "active",
      on_store_loss: policy.on_store_loss ?? "open",
    };
    return {
      kind: "rate_limit_policy",
      id: json.id,
      organisationId: json.organisation_id,
      workspaceId: null,
      content: json,
      make: () => ({ json }),
    };
  });
}
