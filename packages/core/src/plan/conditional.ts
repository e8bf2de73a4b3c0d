import { isTrue } from "../conditions/evaluate.ts";
import type { CompiledNode, ConditionalNode } from "../config/types.ts";
import { GatewayError } from "../errors.ts";
import type { PlanNode, Planning } from "./types.ts";

/** Conditions that the decision lists, so that a thousand of them do not fill the log. */
const MOST_TOLD = 20;

/** The target of the first condition that holds, else the default (behaviour 2.4). */
export function planConditional(node: ConditionalNode, planning: Planning): PlanNode {
  const found = conditionThatHolds(node, planning);
  const rule = node.rules[found];
  const chosen = rule?.target ?? node.otherwise.target;
  const child = node.children[chosen];
  if (child === undefined) throw new GatewayError("no_target", `${node.path} has no target ${chosen}.`);
  const asked = rule === undefined ? node.rules : node.rules.slice(0, found + 1);
  planning.choices.push({
    at: node.path,
    mode: "conditional",
    evaluated: asked.slice(-MOST_TOLD).map((one) => ({ then: one.then, matched: one === rule })),
    condition: rule === undefined ? null : found,
    chosen,
    name: rule?.then ?? node.otherwise.name,
  });
  // Conditions leave no other target, so an open one is used all the same.
  if (child.kind === "leaf" && (planning.view.targets?.look(child.leaf) ?? "closed") !== "closed")
    planning.choices.push({ at: node.path, mode: "breaker", open: [chosen], bypassed: true });
  return planning.planNode(child, planning);
}

/** The target that the conditions choose, for whoever asks whether it may be used. */
export function chosenTarget(node: ConditionalNode, planning: Planning): CompiledNode | undefined {
  return node.children[node.rules[conditionThatHolds(node, planning)]?.target ?? node.otherwise.target];
}

/** Looks at the conditions of a node once a plan, however many ask. */
function conditionThatHolds(node: ConditionalNode, { view, held }: Planning): number {
  const known = held.get(node);
  if (known !== undefined) return known;
  const found = node.rules.findIndex((rule) => isTrue(rule.condition, view.facts));
  held.set(node, found);
  return found;
}
