import type { PlanNode } from "@unigate/contracts";
import { boundCall, GatewayError, toGatewayError } from "@unigate/core";
import type { EdgeDeps } from "../deps.ts";
import type { GatewayReply, GatewayRequest } from "../gateway-request.ts";
import { attemptPlan } from "./attempts.ts";
import { firstLeaf } from "./plan-leaves.ts";
import { admitTarget } from "./prepare-target.ts";
import { recordRefusal, recordStart } from "./record.ts";
import { replyOf } from "./reply.ts";
import type { Run } from "./run-state.ts";
import { startRun } from "./start-run.ts";
import { planRequest } from "./steps/plan.ts";
import { endTarget, releaseProbes } from "./steps/report-outcome.ts";
import { settle } from "./steps/settle.ts";

/**
 * One request from its config to its answer: read this file to know the product.
 * workspace-defaults and resolve-config (start-run.ts), plan, then the attempts (shape-body, resolve-target, reserve,
 * check-input, look-up, call, check-output, decide), then the answer, which settles and logs after its last byte. The
 * first target reserves for the whole request. No step runs beside another, but for the two targets of a hedge: a
 * refused request fires no webhook and leaks no reservation. Throws the GatewayError of a refusal; failures of targets
 * are answers.
 */
export async function runRequest(deps: EdgeDeps, request: GatewayRequest): Promise<GatewayReply> {
  const bounded = boundCall(request.call, deps.limits.maxRequestMs);
  let run: Run | null = null;
  try {
    run = await startRun(deps, request, bounded.call);
    refuseManyTargets(run);
    const plan = await plannedAt(run);
    const first = await admitTarget(run, firstLeaf(plan));
    run.spoolNumber = recordStart(run);
    const outcome = await attemptPlan(run, plan, first);
    releaseProbes(run);
    return replyOf(run, outcome, bounded.done);
  } catch (error) {
    bounded.done();
    const refusal = toGatewayError(error);
    if (run !== null) {
      releaseProbes(run);
      endTarget(run);
      run.isOver = true;
      settle(run, { attempt: Math.max(0, run.attempts - 1), called: true }, { usage: null, costMicro: null }, true);
      recordRefusal(run, refusal);
    }
    throw refusal;
  }
}

/** The plan, and how long it took when there was anything to choose. */
async function plannedAt(run: Run): Promise<PlanNode> {
  if (run.config.compiled.root.kind === "leaf") return planRequest(run);
  const at = run.deps.clock.now();
  try {
    return await planRequest(run);
  } finally {
    run.planning = { at, tookMs: Math.max(0, run.deps.clock.now() - at) };
  }
}

/** A body that is streamed can be sent once, so it takes one target (mesh.md section 1.6). */
function refuseManyTargets(run: Run): void {
  if (run.request.upload === null || run.config.compiled.leaves.length === 1) return;
  throw new GatewayError("invalid_config", "A streamed upload is sent once: its config may have one target only.", {
    param: "x-gateway-config",
  });
}
