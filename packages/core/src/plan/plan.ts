import type { CompiledConfig, CompiledNode } from "../config/types.ts";
import { GatewayError } from "../errors.ts";
import { chooseByWeight } from "./choose-by-weight.ts";
import type { PlanChoice, PlanNode, Planned, PlanView } from "./types.ts";

/**
 * Decides everything about the order of attempts that can be decided before the first one: the branch of every
 * load balancer, the order of every fallback. Pure but for `view.draw`; the edge and the router run this same code.
 * Throws GatewayError `no_target` when nothing can be chosen.
 */
export function planConfig(config: CompiledConfig, view: PlanView): Planned {
  const choices: PlanChoice[] = [];
  return { plan: planNode(config.root, view, choices, "config"), choices };
}

function planNode(node: CompiledNode, view: PlanView, choices: PlanChoice[], path: string): PlanNode {
  switch (node.kind) {
    case "leaf":
      return { kind: { $case: "leaf", value: { index: node.leaf, optionPath: node.optionPath, probeToken: "" } } };
    case "single":
      return planNode(node.child, view, choices, `${path}.targets[0]`);
    case "loadbalance": {
      const weights = node.children.map((child) => child.weight);
      const draw = view.draw();
      const chosen = chooseByWeight(weights, draw);
      const child = node.children[chosen];
      if (child === undefined) throw new GatewayError("no_target", `No target of ${path} can be chosen: every weight is 0.`);
      choices.push({ at: path, mode: "loadbalance", draw, weights, chosen });
      return planNode(child.node, view, choices, `${path}.targets[${chosen}]`);
    }
    case "fallback":
      return inOrder(node.children, 0, view, choices, path);
  }
}

type FallbackChildren = Extract<CompiledNode, { kind: "fallback" }>["children"];

/** Neighbours with the same statuses share one sequence; a target with its own list starts a nested one. */
function inOrder(children: FallbackChildren, from: number, view: PlanView, choices: PlanChoice[], path: string): PlanNode {
  const leaveOn = children[from]?.leaveOn ?? null;
  const steps: PlanNode[] = [];
  for (let index = from; index < children.length; index++) {
    const child = children[index];
    if (child === undefined) break;
    const isLast = index === children.length - 1;
    if (!isLast && !sameStatuses(child.leaveOn, leaveOn)) {
      steps.push(inOrder(children, index, view, choices, path));
      break;
    }
    steps.push(planNode(child.node, view, choices, `${path}.targets[${index}]`));
  }
  const [only] = steps;
  if (steps.length === 1 && only !== undefined) return only;
  return { kind: { $case: "sequence", value: { steps, onStatuses: leaveOn === null ? [] : [...leaveOn], anyNon2xx: leaveOn === null } } };
}

function sameStatuses(left: readonly number[] | null, right: readonly number[] | null): boolean {
  if (left === null || right === null) return left === right;
  return left.length === right.length && left.every((status, index) => status === right[index]);
}
