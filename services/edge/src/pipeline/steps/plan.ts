import type { PlanNode } from "@unigate/contracts";
import { GatewayError, isObject, type JsonObject, jsonOf, planConfig } from "@unigate/core";
import type { Run } from "../run-state.ts";
import { factsOf } from "./facts.ts";

const NO_HASH = Buffer.alloc(0);
const DEADLINE_MS = 1_000;

/**
 * The plan of attempts. A config whose order is fixed is planned here without a call; the router decides the rest,
 * and when it is down the same code plans here and the decision says so (mesh.md section 1.2).
 */
export async function planRequest(run: Run): Promise<PlanNode> {
  const { compiled } = run.config;
  if (!compiled.needsRouter) return planConfig(compiled, run.deps).plan;
  try {
    return await askRouter(run);
  } catch (error) {
    if (error instanceof GatewayError || run.call.cancel.cancelled) throw error;
    run.deps.log.warn({ traceId: run.request.trace.traceId, error: String(error) }, "router is unavailable; the edge plans alone");
    const planned = planConfig(compiled, run.deps);
    run.decision = { choices: planned.choices, degraded: "router" };
    return planned.plan;
  }
}

async function askRouter(run: Run): Promise<PlanNode> {
  const { config, request } = run;
  const call = { ...request.call, deadline: Math.min(run.call.deadline, run.deps.clock.now() + DEADLINE_MS) };
  const ask = (configJson: Buffer) =>
    run.deps.router.plan(
      {
        tenant: request.principal.tenant,
        configHash: config.hash,
        configJson,
        configId: config.id,
        facts: factsOf(run, "", false),
        tried: [],
        branch: NO_HASH,
        explain: false,
      },
      call,
    );
  let reply = await ask(NO_HASH);
  if (reply.outcome?.$case === "needConfig") reply = await ask(config.json);
  const { outcome } = reply;
  if (outcome?.$case === "plan") {
    run.decision = decisionOf(reply.decisionJson);
    return outcome.value;
  }
  if (outcome?.$case === "refused") throw new GatewayError("no_target", outcome.value.message);
  throw new Error("the router asked for the config twice");
}

function decisionOf(json: Buffer): JsonObject {
  const decision: unknown = json.length === 0 ? {} : jsonOf(json);
  return isObject(decision) ? decision : {};
}
