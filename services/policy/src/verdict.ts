import type { Remaining, Verdict } from "@unigate/contracts";
import { ERRORS } from "@unigate/core";
import type { ScopeResult } from "@unigate/storage";
import type { AppliedLimit } from "./applied-limit.ts";
import type { Scope } from "./scope-limits.ts";

/** The verdict on a scope; absent when it was not asked, or not tried. */
export function verdictOf(scope: Scope | null, result: ScopeResult | null): Verdict | undefined {
  if (scope === null || result === null) return undefined;
  const refusing = result.refusedAt === null ? undefined : scope.limits[result.refusedAt];
  return refusing === undefined ? passed(scope) : refused(refusing, "rate_limited", result.retryAfterMs);
}

export function passed(scope: Scope | null): Verdict | undefined {
  if (scope === null) return undefined;
  return { allowed: true, policyId: "", bucket: "", status: 0, retryAfterMs: 0, shadow: false, code: "", owner: "", ownerName: "" };
}

/** The verdict when nothing can be counted: the first limit that lets nothing pass then, refuses. */
export function uncounted(scope: Scope | null): Verdict | undefined {
  const refusing = scope?.limits.find((limit) => limit.closed);
  return refusing === undefined ? passed(scope) : refused(refusing, "service_unavailable", 0);
}

function refused({ take, owner, ownerName }: AppliedLimit, code: "rate_limited" | "service_unavailable", retryAfterMs: number): Verdict {
  const { limitId, bucket } = take;
  return { allowed: false, policyId: limitId, bucket, status: ERRORS[code].status, retryAfterMs, shadow: false, code, owner, ownerName };
}

/** What is left of each limit of a scope. */
export function remainingOf(scope: Scope | null, result: ScopeResult | null, ofTarget: boolean): Remaining[] {
  if (scope === null || result === null) return [];
  return scope.limits.map(({ type, unit, take }, index) => {
    const state = result.remaining[index];
    return {
      policyId: take.limitId,
      unit: unit ?? "",
      limit: take.limit,
      left: state?.left ?? 0,
      resetsAt: state?.resetsAt ?? 0,
      type,
      ofTarget,
    };
  });
}
