import type { Remaining, Verdict } from "@unigate/contracts";
import type { JsonObject } from "@unigate/core";
import type { PreparedTarget } from "../pipeline/prepare-target.ts";
import type { Run } from "../pipeline/run-state.ts";
import { applicableLimits } from "../pipeline/steps/applicable-limits.ts";
import { policyCall, reserveRequest } from "../pipeline/steps/reserve.ts";

/** The limits that would count this target and the request, with what is left of each. Takes nothing. */
export async function explainLimits(run: Run, prepared: PreparedTarget): Promise<JsonObject> {
  const limits = await applicableLimits(run, prepared, true);
  if (limits === null) return { allowed: true, limits: [] };
  const reply = await run.deps.policy.peek(reserveRequest(run, prepared, limits), policyCall(run));
  const refused = [reply.request, reply.target].find((verdict) => verdict?.allowed === false);
  return {
    allowed: refused === undefined,
    ...(refused === undefined ? {} : { refused_by: refusalOf(refused) }),
    limits: reply.remaining.map(limitOf),
    ...(reply.storeLost ? { uncounted: true } : {}),
  };
}

function refusalOf({ policyId, owner, ownerName, status, retryAfterMs }: Verdict): JsonObject {
  return { limit: policyId, owner, name: ownerName, status, retry_after_ms: retryAfterMs };
}

function limitOf({ policyId, type, unit, limit, left, resetsAt, ofTarget }: Remaining): JsonObject {
  return {
    limit: policyId,
    counts: ofTarget ? "target" : "request",
    type,
    unit: unit === "" ? null : unit,
    value: limit,
    left,
    resets_at: resetsAt === 0 ? null : new Date(resetsAt).toISOString(),
  };
}
