import type { Verdict } from "@unigate/contracts";
import { GatewayError, type RateLimitPolicy } from "@unigate/core";

/** A refusal of the whole request by a limit; its rate-limit headers go to the client with it. */
export class LimitRefusal extends GatewayError {
  readonly headers: readonly string[];

  constructor(error: GatewayError, headers: readonly string[]) {
    const { code, message, type, retryAfterMs } = error;
    super(code, message, { type, ...(retryAfterMs === null ? {} : { retryAfterMs }) });
    this.headers = headers;
  }
}

/** What a verdict that refuses means for the client: which limit it is, and how long to wait. */
export function limitError({ code, owner, ownerName, retryAfterMs }: Verdict): GatewayError {
  if (code === "service_unavailable") return uncountedError(ownerName);
  if (code === "budget_exhausted") return new GatewayError("budget_exhausted", undefined, { retryAfterMs });
  const wait = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  const { what, type } = limitOf(owner, ownerName);
  return new GatewayError("rate_limited", `${what} is reached; try again in ${wait} s.`, { retryAfterMs, type });
}

/** The answer when a policy cannot be counted and lets nothing pass then. */
export function uncountedError(policyName: string): GatewayError {
  return new GatewayError(
    "service_unavailable",
    `The rate limit policy "${policyName}" cannot be counted right now, and it lets nothing through uncounted.`,
  );
}

export function nameOf(policy: RateLimitPolicy): string {
  return policy.name ?? policy.id;
}

/** Error types by whose limit it is (behaviour section 5). */
function limitOf(owner: string, ownerName: string): { readonly what: string; readonly type: string } {
  switch (owner) {
    case "policy":
      return { what: `The rate limit policy "${ownerName}"`, type: "rate_limits_policy_exhaust_error" };
    case "provider":
      return { what: `The rate limit of the provider "@${ownerName}"`, type: "virtual_key_rate_limit_error" };
    default:
      return { what: "The rate limit of this API key", type: "api_key_rate_limit_error" };
  }
}
