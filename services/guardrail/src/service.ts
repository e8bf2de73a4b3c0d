import type { GuardrailPort } from "@unigate/contracts";
import { check } from "./check.ts";
import type { GuardrailDeps } from "./deps.ts";
import { createPreparedHooks } from "./prepared-hooks.ts";

/** Sets of checks over requests and answers. */
export function createGuardrailService(deps: GuardrailDeps): GuardrailPort {
  const hooks = createPreparedHooks(deps);
  return {
    check: (request, call) => check(deps, hooks, request, call),
  };
}
