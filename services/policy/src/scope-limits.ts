import type { ReserveRequest, Subject, Tenant } from "@unigate/contracts";
import {
  type Call,
  type CompiledPolicies,
  matchPolicies,
  type PolicyContext,
  type PolicySetResource,
  policiesOf,
  policyContext,
  type RateLimit,
} from "@unigate/core";
import { RpcError } from "@unigate/rpc";
import { type AppliedLimit, ownLimits, policyLimit, type TokenEstimate } from "./applied-limit.ts";
import type { PolicyDeps } from "./deps.ts";

/** The limits of one scope; `unknown` = those of its key or provider could not be read. */
export interface Scope {
  readonly limits: readonly AppliedLimit[];
  readonly unknown: boolean;
}

/** The limits of the scopes that a reservation asks for; null = not asked. */
export interface Scopes {
  readonly request: Scope | null;
  readonly target: Scope | null;
}

/** What a key and a provider have in common here. */
interface Limited {
  readonly rate_limits: readonly RateLimit[];
}

const NO_POLICIES: PolicySetResource = { rate_limits: [], usage_limits: [] };
const NO_FACTS = { path: "", metadata: {} };

/**
 * Every limit that counts the request: its key's, its target's, and the policies that match. Rejects with UNAVAILABLE
 * when the policies cannot be read: the caller knows which of them let nothing pass.
 */
export async function limitsOf(deps: PolicyDeps, request: ReserveRequest, tenant: Tenant, subject: Subject, call: Call): Promise<Scopes> {
  const estimate = { tokens: request.tokens, bounded: request.facts?.maxOutputTokens !== undefined };
  const [policies, key, provider] = await Promise.all([
    policySet(deps, tenant, call),
    request.requestScope ? ownScope(deps, "api_key", subject.apiKeyId, tenant, estimate, call) : null,
    request.targetScope ? ownScope(deps, "provider", subject.slug, tenant, estimate, call) : null,
  ]);
  const { request: ofRequest, target: ofTarget } = policies;
  if (ofRequest.length + ofTarget.length === 0) return { request: key, target: provider };
  const context = policyContext(tenant, subject, request.facts ?? NO_FACTS);
  return {
    request: key && withPolicies(key, ofRequest, context, estimate),
    target: provider && withPolicies(provider, ofTarget, context, estimate),
  };
}

function withPolicies(own: Scope, policies: CompiledPolicies["request"], context: PolicyContext, estimate: TokenEstimate): Scope {
  const matches = matchPolicies(policies, context);
  if (matches.length === 0) return own;
  return { ...own, limits: [...own.limits, ...matches.map((match) => policyLimit(match, estimate))] };
}

async function policySet(deps: PolicyDeps, tenant: Tenant, call: Call): Promise<CompiledPolicies> {
  const { organisationId } = tenant;
  try {
    const ref = { kind: "policy_set", id: organisationId, tenant: { organisationId, workspaceId: "" } } as const;
    const found = await deps.resolver.resolve<PolicySetResource>(ref, call);
    return policiesOf(found?.value ?? NO_POLICIES);
  } catch (cause) {
    throw new RpcError("UNAVAILABLE", `The policies cannot be read: ${String(cause)}`);
  }
}

async function ownScope(
  deps: PolicyDeps,
  kind: "api_key" | "provider",
  id: string,
  tenant: Tenant,
  estimate: TokenEstimate,
  call: Call,
): Promise<Scope> {
  if (id === "") return { limits: [], unknown: false };
  try {
    const found = await deps.resolver.resolve<Limited>({ kind, id, tenant }, call);
    if (found === null) return { limits: [], unknown: true };
    return { limits: ownLimits(kind, id, found.value.rate_limits, estimate), unknown: false };
  } catch (cause) {
    deps.onStoreLost?.(cause);
    return { limits: [], unknown: true };
  }
}
