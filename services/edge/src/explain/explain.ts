import { boundCall, type JsonObject } from "@unigate/core";
import type { EdgeDeps } from "../deps.ts";
import type { GatewayRequest } from "../gateway-request.ts";
import { leavesInOrder } from "../pipeline/plan-leaves.ts";
import { startRun } from "../pipeline/start-run.ts";
import { planRequest } from "../pipeline/steps/plan.ts";
import { explainTarget } from "./explain-target.ts";
import { toldChoices, whyNotTaken } from "./not-taken.ts";
import { planTree } from "./plan-tree.ts";

/** Targets that are explained; a fallback may have thousands below it. */
const MOST_TARGETS = 50;

/**
 * What would become of a request, by the steps that would serve it: nothing is sent, counted, stored or logged.
 * Refusals of the request itself are thrown as they would be.
 */
export async function explainRequest(deps: EdgeDeps, request: GatewayRequest): Promise<JsonObject> {
  const bounded = boundCall(request.call, deps.limits.maxRequestMs);
  try {
    const run = await startRun(deps, request, bounded.call);
    const { compiled, id, version, origin } = run.config;
    const plan = await planRequest(run, true);
    const inOrder = leavesInOrder(plan);
    const targets: JsonObject[] = [];
    for (const leaf of inOrder.slice(0, MOST_TARGETS)) targets.push(await explainTarget(run, leaf, targets.length + 1));
    const planned = new Set(inOrder.map(({ index }) => index));
    const choices = toldChoices(run.decision);
    return {
      object: "explanation",
      trace_id: request.trace.traceId,
      surface: request.surface,
      config: { origin, id: id === "" ? null : id, version: version === "" ? null : version, ignored_fields: compiled.warnings },
      metadata: run.metadata,
      decision: run.decision,
      plan: await planTree(run, plan),
      targets,
      ...(inOrder.length > MOST_TARGETS ? { targets_not_shown: inOrder.length - MOST_TARGETS } : {}),
      not_taken: compiled.leaves
        .filter(({ index }) => !planned.has(index))
        .slice(0, MOST_TARGETS)
        .map(({ optionPath, name }) => ({
          option_path: optionPath,
          name: name === "" ? null : name,
          reason: whyNotTaken(optionPath, choices),
        })),
    };
  } finally {
    bounded.done();
  }
}
