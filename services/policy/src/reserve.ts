import type { Remaining, ReserveReply, ReserveRequest, Tenant, Verdict } from "@unigate/contracts";
import { type Call, ERRORS, type RateLimit } from "@unigate/core";
import { RpcError } from "@unigate/rpc";
import type { ReserveResult, ScopeResult, Take } from "@unigate/storage";
import type { PolicyDeps } from "./deps.ts";
import { type AppliedLimit, appliedLimits } from "./rate-limits.ts";

const DEFAULT_LEASE_MS = 60_000;
const MAX_LEASE_MS = 3_600_000;

/** What a key and a provider have in common here. */
interface Limited {
  readonly rate_limits: readonly RateLimit[];
}

/** The limits of one scope; `unknown` = they could not be read. */
interface Scope {
  readonly limits: readonly AppliedLimit[];
  readonly unknown: boolean;
}

/**
 * Takes from the limits of the asked scopes. The verdict of a scope that was not asked, or not tried because the
 * request was refused, is absent. Limits that cannot be read or counted let the request pass, with `store_lost`.
 */
export async function reserve(deps: PolicyDeps, request: ReserveRequest, call: Call): Promise<ReserveReply> {
  const { tenant, subject, reservationId } = request;
  if (tenant === undefined || subject === undefined || reservationId === "") {
    throw new RpcError("INVALID_ARGUMENT", "Reserve needs a tenant, a subject and a reservation id.");
  }
  const [key, target] = await Promise.all([
    request.requestScope ? scopeOf(deps, "api_key", subject.apiKeyId, tenant, request.tokens, call) : null,
    request.targetScope ? scopeOf(deps, "provider", subject.slug, tenant, request.tokens, call) : null,
  ]);
  const unknown = key?.unknown === true || target?.unknown === true;
  if (!hasLimits(key) && !hasLimits(target)) {
    return { request: passed(key), target: passed(target), remaining: [], storeLost: unknown };
  }
  let result: ReserveResult;
  try {
    result = await deps.counters.reserve({
      organisationId: tenant.organisationId,
      reservationId,
      attempt: request.attempt,
      leaseMs: Math.min(request.leaseMs === 0 ? DEFAULT_LEASE_MS : request.leaseMs, MAX_LEASE_MS),
      request: takesOf(key),
      target: takesOf(target),
    });
  } catch (cause) {
    deps.onStoreLost?.(cause);
    return { request: passed(key), target: passed(target), remaining: [], storeLost: true };
  }
  return {
    request: verdictOf(key, result.request),
    target: verdictOf(target, result.target),
    remaining: [...remainingOf(key, result.request), ...remainingOf(target, result.target)],
    storeLost: unknown,
  };
}

async function scopeOf(
  deps: PolicyDeps,
  kind: "api_key" | "provider",
  id: string,
  tenant: Tenant,
  tokens: number,
  call: Call,
): Promise<Scope> {
  if (id === "") return { limits: [], unknown: false };
  try {
    const found = await deps.resolver.resolve<Limited>({ kind, id, tenant }, call);
    if (found === null) return { limits: [], unknown: true };
    return { limits: appliedLimits(kind, id, found.value.rate_limits, tokens), unknown: false };
  } catch (cause) {
    deps.onStoreLost?.(cause);
    return { limits: [], unknown: true };
  }
}

function hasLimits(scope: Scope | null): boolean {
  return scope !== null && scope.limits.length > 0;
}

function takesOf(scope: Scope | null): Take[] | null {
  return scope === null ? null : scope.limits.map((limit) => limit.take);
}

function passed(scope: Scope | null): Verdict | undefined {
  if (scope === null) return undefined;
  return { allowed: true, policyId: "", bucket: "", status: 0, retryAfterMs: 0, shadow: false, code: "" };
}

function verdictOf(scope: Scope | null, result: ScopeResult | null): Verdict | undefined {
  if (result === null || result.refusedAt === null) return result === null ? undefined : passed(scope);
  const refusing = scope?.limits[result.refusedAt]?.take;
  return {
    allowed: false,
    policyId: refusing?.limitId ?? "",
    bucket: refusing?.bucket ?? "",
    status: ERRORS.rate_limited.status,
    retryAfterMs: result.retryAfterMs,
    shadow: false,
    code: "rate_limited",
  };
}

function remainingOf(scope: Scope | null, result: ScopeResult | null): Remaining[] {
  if (scope === null || result === null) return [];
  return scope.limits.map(({ unit, take }, index) => {
    const state = result.remaining[index];
    return { policyId: take.limitId, unit: unit ?? "", limit: take.limit, left: state?.left ?? 0, resetsAt: state?.resetsAt ?? 0 };
  });
}
