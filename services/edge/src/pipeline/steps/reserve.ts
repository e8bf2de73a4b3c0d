import type { ReserveReply, ReserveRequest } from "@unigate/contracts";
import type { Call, GatewayError } from "@unigate/core";
import { isRpcError } from "@unigate/rpc";
import { LEASE_MS } from "../../leases.ts";
import { limitHeaders } from "../limit-headers.ts";
import { LimitRefusal, limitError, nameOf, uncountedError } from "../limit-refusal.ts";
import type { PreparedTarget } from "../prepare-target.ts";
import type { Run } from "../run-state.ts";
import { type ApplicableLimits, applicableLimits } from "./applicable-limits.ts";
import { cancelError } from "./call.ts";
import { estimateTokens } from "./estimate-tokens.ts";

/**
 * Takes a target from its limits, and with the first target the request from its own, in one call. Throws a
 * LimitRefusal when the request is refused; gives the error of a target that is, which is that target's outcome.
 * Policy down: each limit's on_store_loss (mesh.md section 2).
 */
export async function reserve(run: Run, prepared: PreparedTarget): Promise<GatewayError | null> {
  const limits = await applicableLimits(run, prepared, prepared.attempt === 0);
  run.limits.ofTarget = [];
  if (limits === null) return null;
  const reply = await askPolicy(run, prepared, limits);
  if (reply === null) return passUncounted(run, limits);
  run.limits.ofRequest.push(...reply.remaining.filter((remaining) => !remaining.ofTarget));
  run.limits.ofTarget = reply.remaining.filter((remaining) => remaining.ofTarget);
  if (reply.request?.allowed === false) {
    // Of a refused request nothing is kept; of one that the store may have lost, perhaps.
    run.limits.isReserved = reply.storeLost;
    throw new LimitRefusal(limitError(reply.request), remainingHeaders(run));
  }
  if (reply.remaining.length > 0) run.deps.leases.begin(run.request.principal.tenant.organisationId, run.request.requestId);
  return reply.target?.allowed === false ? limitError(reply.target) : null;
}

/** What the client is told of the limits that counted the request and its last target. */
export function remainingHeaders(run: Run): string[] {
  const { ofRequest, ofTarget } = run.limits;
  return ofRequest.length + ofTarget.length === 0 ? [] : limitHeaders([...ofRequest, ...ofTarget], run.deps.clock.now());
}

/** What policy is asked for. */
export function reserveRequest({ request }: Run, prepared: PreparedTarget, limits: ApplicableLimits): ReserveRequest {
  return {
    reservationId: request.requestId,
    tenant: request.principal.tenant,
    subject: limits.subject,
    facts: limits.facts,
    attempt: prepared.attempt,
    requestScope: limits.request,
    targetScope: limits.target,
    tokens: estimateTokens(limits.facts, prepared.shaped.json),
    leaseMs: LEASE_MS,
  };
}

/** As long as policy is waited for. */
export function policyCall({ request, call, deps }: Run): Call {
  return { ...request.call, deadline: Math.min(call.deadline, deps.clock.now() + deps.limits.reserveMs) };
}

/** Null when policy cannot be asked. */
async function askPolicy(run: Run, prepared: PreparedTarget, limits: ApplicableLimits): Promise<ReserveReply | null> {
  const { request, deps } = run;
  if (!deps.patience.mayAsk()) return null;
  // Even one that is not answered may be kept.
  run.limits.isReserved = true;
  try {
    const reply = await deps.policy.reserve(reserveRequest(run, prepared, limits), policyCall(run));
    deps.patience.answered();
    return reply;
  } catch (error) {
    if (run.call.cancel.cancelled) throw cancelError(run.call);
    if (isRpcError(error) && error.code === "DEADLINE_EXCEEDED") deps.patience.silent();
    else deps.patience.answered();
    deps.log.warn({ traceId: request.trace.traceId, error: String(error) }, "policy is unavailable; limits are not counted");
    return null;
  }
}

/** Limits pass uncounted, unless a policy among them does not have it. */
function passUncounted(run: Run, { closed }: ApplicableLimits): GatewayError | null {
  if (closed.request !== null) throw new LimitRefusal(uncountedError(nameOf(closed.request)), []);
  if (closed.target !== null) return uncountedError(nameOf(closed.target));
  run.deps.metrics.limitsUncounted();
  return null;
}
