import type { PlanReply, PlanRequest } from "@unigate/contracts";
import { bufferOfJson, type Clock, type CompiledConfig, GatewayError, type PlanTargets, planConfig } from "@unigate/core";
import type { LiveBreakers } from "./breakers/live-breakers.ts";
import type { CompiledConfigs } from "./compiled-configs.ts";
import type { LiveMeasurements } from "./measurements/live-measurements.ts";
import { planFactsOf } from "./plan-facts.ts";
import { targetKeyPrefix } from "./target-key.ts";

const EMPTY = Buffer.alloc(0);

export interface PlanDeps {
  readonly clock: Clock;
  readonly configs: CompiledConfigs;
  readonly breakers: LiveBreakers;
  readonly measurements: LiveMeasurements;
  /** A number in [0, 1). */
  draw(): number;
}

/** The plan of one request, from memory only. */
export function plan(deps: PlanDeps, request: PlanRequest): PlanReply {
  const config = deps.configs.of(request);
  if (config === null) return reply({ $case: "needConfig", value: {} });
  if (typeof config === "string") return refused(`the config cannot be compiled: ${config}`);
  const prices = new Map(request.prices.map(({ index, microUsd }) => [index, microUsd]));
  try {
    const planned = planConfig(config, {
      draw: () => deps.draw(),
      now: deps.clock.now(),
      facts: planFactsOf(request),
      targets: planTargets(deps, config, request),
      price: (leaf) => prices.get(leaf) ?? null,
    });
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

function planTargets({ breakers, measurements }: PlanDeps, { leaves, isMeasured }: CompiledConfig, request: PlanRequest): PlanTargets {
  const organisationId = request.tenant?.organisationId ?? "";
  const prefix = targetKeyPrefix(request);
  const keyOf = (index: number): string | null => {
    const leaf = leaves[index];
    return leaf === undefined || leaf.breaker === null ? null : prefix + leaf.optionPath;
  };
  const measuredKey = (index: number): string => prefix + (leaves[index]?.optionPath ?? "");
  return {
    latencyMs: (index) => measurements.latencyMs(organisationId, measuredKey(index)),
    explore: (index) => !request.explain && measurements.explore(organisationId, measuredKey(index)),
    inFlight: (index) => measurements.inFlight(organisationId, measuredKey(index)),
    look(index) {
      const key = keyOf(index);
      return key === null ? "closed" : breakers.look(organisationId, key);
    },
    beginProbe(index) {
      if (isMeasured && !request.explain) measurements.planned(organisationId, measuredKey(index));
      const key = keyOf(index);
      return key === null || request.explain ? "" : breakers.beginProbe(organisationId, key);
    },
  };
}

function reply(outcome: NonNullable<PlanReply["outcome"]>): PlanReply {
  return { outcome, branch: EMPTY, decisionJson: EMPTY };
}

function refused(message: string): PlanReply {
  return reply({ $case: "refused", value: { code: "no_target", message, param: "", status: 400, type: "invalid_request_error" } });
}
