import type { PlanReply, PlanRequest, RouterPort } from "@unigate/contracts";
import { bufferOfJson, type Clock, type CompiledConfig, compileConfig, GatewayError, jsonOf, planConfig } from "@unigate/core";
import { LRUCache } from "lru-cache";
import { planFactsOf } from "./plan-facts.ts";

/** What the router is given. */
export interface RouterDeps {
  readonly clock: Clock;
  /** A number in [0, 1). */
  draw(): number;
}

/** Compiled configs kept, by organisation and content hash. */
const MAX_COMPILED = 5_000;
const EMPTY = Buffer.alloc(0);

/** Plans attempts. Its state is a cache: any replica can answer any request. */
export function createRouterService(deps: RouterDeps): RouterPort {
  const compiled = new LRUCache<string, CompiledConfig>({ max: MAX_COMPILED });
  return {
    plan: async (request) => plan(deps, compiled, request),
    report: async () => ({}),
  };
}

function plan(deps: RouterDeps, compiled: LRUCache<string, CompiledConfig>, request: PlanRequest): PlanReply {
  const key = `${request.tenant?.organisationId ?? ""}/${request.configHash.toString("hex")}`;
  let config = compiled.get(key);
  if (config === undefined) {
    if (request.configJson.length === 0) return reply({ $case: "needConfig", value: {} });
    const result = compileConfig(jsonOf(request.configJson), "inline");
    if (!result.ok)
      return refused(`the config cannot be compiled: ${result.problems.map(({ path, message }) => `${path}: ${message}`).join("; ")}`);
    config = result.config;
    compiled.set(key, config);
  }
  try {
    const planned = planConfig(config, { draw: () => deps.draw(), now: deps.clock.now(), facts: planFactsOf(request) });
    return {
      outcome: { $case: "plan", value: planned.plan },
      branch: EMPTY,
      decisionJson: bufferOfJson({ choices: planned.choices }),
    };
  } catch (error) {
    if (error instanceof GatewayError) return refused(error.message);
    throw error;
  }
}

function reply(outcome: NonNullable<PlanReply["outcome"]>): PlanReply {
  return { outcome, branch: EMPTY, decisionJson: EMPTY };
}

function refused(message: string): PlanReply {
  return reply({ $case: "refused", value: { code: "no_target", message, param: "", status: 400, type: "invalid_request_error" } });
}
