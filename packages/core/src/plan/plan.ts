import type { CompiledConfig, CompiledNode, LeafNode } from "../config/types.ts";
import { planConditional } from "./conditional.ts";
import { planFallback } from "./fallback.ts";
import { planLoadbalance } from "./loadbalance.ts";
import type { PlanNode, Planned, Planning, PlanView } from "./types.ts";

/**
 * Decides everything about the order of attempts that can be decided before the first one: the branch of every
 * load balancer and of every condition, the order of every fallback. Pure but for what `view` says; the edge and the
 * router run this same code. Throws GatewayError `no_target` when nothing can be chosen.
 */
export function planConfig(config: CompiledConfig, view: PlanView): Planned {
  const choices: Planning["choices"] = [];
  return { plan: planNode(config.root, { view, choices, held: new Map(), planNode }), choices };
}

function planNode(node: CompiledNode, planning: Planning): PlanNode {
  switch (node.kind) {
    case "leaf":
      return leafOf(node, planning);
    case "single":
      return planNode(node.child, planning);
    case "loadbalance":
      return planLoadbalance(node, planning);
    case "fallback":
      return planFallback(node, planning);
    case "conditional":
      return planConditional(node, planning);
  }
}

function leafOf({ leaf, optionPath }: LeafNode, { view }: Planning): PlanNode {
  return { kind: { $case: "leaf", value: { index: leaf, optionPath, probeToken: view.targets?.beginProbe(leaf) ?? "" } } };
}
