import type { LoadbalanceNode } from "../config/types.ts";
import { GatewayError } from "../errors.ts";
import { usableChildren } from "./availability.ts";
import { chooseByWeight } from "./choose-by-weight.ts";
import { chooseSticky } from "./choose-sticky.ts";
import { selectWeights } from "./select.ts";
import type { PlanNode, Planning } from "./types.ts";

/**
 * One target by weight, drawn or kept, among those that `select` prefers; what is open has none (behaviour 2.2, 2.6).
 * Throws no_target when every weight is 0.
 */
export function planLoadbalance(node: LoadbalanceNode, planning: Planning): PlanNode {
  const { view } = planning;
  const usable = usableChildren(node.children, node.path, planning);
  const closed = node.children.map(({ weight }, index) => (usable === null || usable[index] === true ? weight : 0));
  const weights = selectWeights(node, closed, view);
  const draw = node.sticky === null ? view.draw() : null;
  const chosen = node.sticky === null ? chooseByWeight(weights, draw ?? 0) : chooseSticky(node.sticky, weights, view);
  const child = node.children[chosen];
  if (child === undefined) throw new GatewayError("no_target", `No target of ${node.path} can be chosen: every weight is 0.`);
  planning.choices.push({ at: node.path, mode: "loadbalance", sticky: node.sticky !== null, draw, weights, chosen });
  return planning.planNode(child.node, planning);
}
