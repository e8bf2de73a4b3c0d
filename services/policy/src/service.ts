import type { PolicyPort } from "@unigate/contracts";
import type { PolicyDeps } from "./deps.ts";
import { renew } from "./renew.ts";
import { peek, reserve } from "./reserve.ts";
import { settle } from "./settle.ts";

/** Requests, tokens and concurrency against the limits of API keys, providers and policies. */
export function createPolicyService(deps: PolicyDeps): PolicyPort {
  return {
    reserve: (request, call) => reserve(deps, request, call),
    peek: (request, call) => peek(deps, request, call),
    settle: (request) => settle(deps, request),
    renew: (request) => renew(deps, request),
  };
}
