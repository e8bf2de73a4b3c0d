import type { ReserveReply, ReserveRequest } from "@unigate/contracts";
import type { Call } from "@unigate/core";
import { RpcError } from "@unigate/rpc";
import type { PeekCall, ReserveResult, Take } from "@unigate/storage";
import type { PolicyDeps } from "./deps.ts";
import { leaseOf } from "./lease.ts";
import { limitsOf, type Scope } from "./scope-limits.ts";
import { passed, remainingOf, uncounted, verdictOf } from "./verdict.ts";

/**
 * Takes from every limit of the asked scopes, in one call of the store. The verdict of a scope that was not asked, or
 * not tried because the request was refused, is absent. Limits that cannot be read or counted let the request pass,
 * with `store_lost`, unless one of them is a policy whose on_store_loss is closed.
 */
export async function reserve(deps: PolicyDeps, request: ReserveRequest, call: Call): Promise<ReserveReply> {
  const { reservationId, attempt } = request;
  if (reservationId === "") throw new RpcError("INVALID_ARGUMENT", "Reserve needs a reservation id.");
  const leaseMs = leaseOf(request.leaseMs);
  return ask(deps, request, call, (takes) => deps.counters.reserve({ ...takes, reservationId, attempt, leaseMs }));
}

/** What `reserve` would say, but that nothing is taken, and that the target is asked whatever comes of the request. */
export function peek(deps: PolicyDeps, request: ReserveRequest, call: Call): Promise<ReserveReply> {
  return ask(deps, request, call, (takes) => deps.counters.peek(takes));
}

async function ask(
  deps: PolicyDeps,
  request: ReserveRequest,
  call: Call,
  count: (takes: PeekCall) => Promise<ReserveResult>,
): Promise<ReserveReply> {
  const { tenant, subject } = request;
  if (tenant === undefined || subject === undefined) throw new RpcError("INVALID_ARGUMENT", "A tenant and a subject are needed.");
  const scopes = await limitsOf(deps, request, tenant, subject, call);
  const unknown = scopes.request?.unknown === true || scopes.target?.unknown === true;
  if (!hasLimits(scopes.request) && !hasLimits(scopes.target)) {
    return { request: passed(scopes.request), target: passed(scopes.target), remaining: [], storeLost: unknown };
  }
  let result: ReserveResult;
  try {
    result = await count({ organisationId: tenant.organisationId, request: takesOf(scopes.request), target: takesOf(scopes.target) });
  } catch (cause) {
    const ofRequest = uncounted(scopes.request);
    const isRefused = ofRequest?.allowed === false;
    if (!isRefused) deps.onStoreLost?.(cause);
    return { request: ofRequest, target: isRefused ? undefined : uncounted(scopes.target), remaining: [], storeLost: true };
  }
  return {
    request: verdictOf(scopes.request, result.request),
    target: verdictOf(scopes.target, result.target),
    remaining: [...remainingOf(scopes.request, result.request, false), ...remainingOf(scopes.target, result.target, true)],
    storeLost: unknown,
  };
}

function hasLimits(scope: Scope | null): boolean {
  return scope !== null && scope.limits.length > 0;
}

function takesOf(scope: Scope | null): Take[] | null {
  return scope === null ? null : scope.limits.map((limit) => limit.take);
}
