import type { PolicyPort } from "@unigate/contracts";
import type { PolicyDeps } from "./deps.ts";
import { reserve } from "./reserve.ts";
import { settle } from "./settle.ts";

/** Requests and tokens against the rate limits of API keys and providers. */
export function createPolicyService(deps: PolicyDeps): PolicyPort {
  return {
    reserve: (request, call) => reserve(deps, request, call),
    settle: (request) => settle(deps, request),
  };
}
