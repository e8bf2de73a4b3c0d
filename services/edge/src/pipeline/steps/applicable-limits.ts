import type { Facts, Subject } from "@unigate/contracts";
import { matchPolicies, type PolicyMatch, type PolicySetResource, policiesOf, policyContext, type RateLimitPolicy } from "@unigate/core";
import type { GatewayRequest } from "../../gateway-request.ts";
import type { PreparedTarget } from "../prepare-target.ts";
import type { Run } from "../run-state.ts";
import { factsOf } from "./facts.ts";

/** The scopes of a reservation that some limit counts; what policy is asked for, and nothing more. */
export interface ApplicableLimits {
  readonly request: boolean;
  readonly target: boolean;
  readonly subject: Subject;
  readonly facts: Facts;
  /** The policies among them that let nothing pass uncounted: the first of each scope. */
  readonly closed: { readonly request: RateLimitPolicy | null; readonly target: RateLimitPolicy | null };
}

/**
 * The limits that count this target, and with the first target the request; null = none can, so policy is not asked.
 * Throws service_unavailable when the tenant's policies are not known and cannot be had.
 */
export async function applicableLimits(run: Run, prepared: PreparedTarget, isFirst: boolean): Promise<ApplicableLimits | null> {
  const { request, deps } = run;
  const { key, tenant, policySet } = request.principal;
  if (isFree(request)) return null;
  const found = deps.resolver.peek<PolicySetResource>(policySet) ?? (await deps.resolver.resolve<PolicySetResource>(policySet, run.call));
  const policies = found === null ? null : policiesOf(found.value);
  const { target, shaped } = prepared;
  const ownRequest = isFirst && key.rate_limits.length > 0;
  const ownTarget = (target?.resource?.rate_limits.length ?? 0) > 0;
  const mayMatch = policies !== null && ((isFirst && policies.request.length > 0) || (target !== null && policies.target.length > 0));
  if (!mayMatch && !ownRequest && !ownTarget) return null;

  const subject: Subject = {
    apiKeyId: key.id,
    provider: target?.provider.id ?? "",
    slug: target?.slug ?? "",
    configId: run.config.id,
    promptId: "",
    model: target === null ? "" : shaped.model,
  };
  const facts = factsOf(run, subject.model, shaped.stream, shaped.json ?? request.json);
  const context = policyContext(tenant, subject, facts);
  const ofRequest = policies !== null && isFirst ? matchPolicies(policies.request, context) : [];
  const ofTarget = policies !== null && target !== null ? matchPolicies(policies.target, context) : [];
  const limits = {
    request: ownRequest || ofRequest.length > 0,
    target: ownTarget || ofTarget.length > 0,
    subject,
    facts,
    closed: { request: firstClosed(ofRequest), target: firstClosed(ofTarget) },
  };
  return limits.request || limits.target ? limits : null;
}

function firstClosed(matches: readonly PolicyMatch[]): RateLimitPolicy | null {
  return matches.find(({ policy }) => policy.on_store_loss === "closed")?.policy ?? null;
}

const FREE = /^\/(?:batches|files|fine_tuning)(?:\/|$)/;

/** Looking at batches, files and fine-tuning jobs is not counted (behaviour 10.1). */
function isFree(request: GatewayRequest): boolean {
  return request.surface === "proxy" && request.method === "GET" && FREE.test(request.path);
}
