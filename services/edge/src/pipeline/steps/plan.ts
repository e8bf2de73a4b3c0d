import type { PlanNode } from "@unigate/contracts";
import { GatewayError, isObject, type JsonObject, jsonOf, type PlanLeaf, type Planned, planConfig } from "@unigate/core";
import type { Run } from "../run-state.ts";
import { type LeafPrices, leafPrices, NO_PRICES } from "./leaf-price.ts";
import { planFactsOf, planViewOf } from "./plan-view.ts";

const NO_HASH = Buffer.alloc(0);
const DEADLINE_MS = 1_000;

/**
 * The plan of attempts. What depends on the request alone is planned here without a call; the router is asked for
 * what replicas have to know of each other, and when it is down the same code plans here and the decision says so
 * (mesh.md section 1.2). `explain`: nothing will be tried, so no breaker's probe is begun.
 */
export async function planRequest(run: Run, explain = false): Promise<PlanNode> {
  const { needsRouter, isPriced } = run.config.compiled;
  const prices = isPriced ? await leafPrices(run) : NO_PRICES;
  if (!needsRouter) {
    const { plan, choices } = planHere(run, prices);
    if (choices.length > 0) run.decision = { choices };
    return plan;
  }
  try {
    return await askRouter(run, prices, explain);
  } catch (error) {
    if (error instanceof GatewayError || run.call.cancel.cancelled) throw error;
    run.deps.log.warn({ traceId: run.request.trace.traceId, error: String(error) }, "router is unavailable; the edge plans alone");
    const { plan, choices } = planHere(run, prices);
    run.decision = { choices, degraded: "router" };
    return plan;
  }
}

function planHere(run: Run, prices: LeafPrices): Planned {
  return planConfig(run.config.compiled, planViewOf(run, prices));
}

async function askRouter(run: Run, prices: LeafPrices, explain: boolean): Promise<PlanNode> {
  const { config, request } = run;
  const call = { ...request.call, deadline: Math.min(run.call.deadline, run.deps.clock.now() + DEADLINE_MS) };
  const ask = (configJson: Buffer) =>
    run.deps.router.plan(
      {
        tenant: request.principal.tenant,
        configHash: config.hash,
        configJson,
        configId: config.id,
        facts: planFactsOf(run),
        tried: [],
        branch: NO_HASH,
        explain,
        principalId: request.principal.key.id,
        prices: Array.from(prices, ([index, microUsd]) => ({ index, microUsd })),
      },
      call,
    );
  let reply = await ask(NO_HASH);
  if (reply.outcome?.$case === "needConfig") reply = await ask(config.json);
  const { outcome } = reply;
  if (outcome?.$case === "plan") {
    run.decision = decisionOf(reply.decisionJson);
    collectProbes(outcome.value, run.probes);
    return outcome.value;
  }
  if (outcome?.$case === "refused") throw new GatewayError("no_target", outcome.value.message);
  throw new Error("the router asked for the config twice");
}

function collectProbes({ kind }: PlanNode, probes: PlanLeaf[]): void {
  if (kind?.$case === "leaf") {
    if (kind.value.probeToken !== "") probes.push(kind.value);
    return;
  }
  const nodes = kind?.$case === "sequence" ? kind.value.steps : (kind?.value.racers ?? []);
  for (const node of nodes) collectProbes(node, probes);
}

function decisionOf(json: Buffer): JsonObject {
  const decision: unknown = json.length === 0 ? {} : jsonOf(json);
  return isObject(decision) ? decision : {};
}
