import type { LoadbalanceNode } from "../config/types.ts";
import { GatewayError } from "../errors.ts";
import { usableChildren } from "./availability.ts";
import { chooseByWeight } from "./choose-by-weight.ts";
import { chooseSticky } from "./choose-sticky.ts";
import { hedgeNode } from "./hedge.ts";
import { selectWeights } from "./select.ts";
import type { PlanNode, Planning, PlanView } from "./types.ts";

/**
 * One target by weight, drawn or kept, among those that `select` prefers; what is open has none (behaviour 2.2, 2.6).
 * With a hedge a second one is chosen from the others in the same way. Throws no_target when every weight is 0.
 */
export function planLoadbalance(node: LoadbalanceNode, planning: Planning): PlanNode {
  const { view } = planning;
  const usable = usableChildren(node.children, node.path, planning);
  const closed = node.children.map(({ weight }, index) => (usable === null || usable[index] === true ? weight : 0));
  const weights = selectWeights(node, closed, view);
  const { chosen, draw } = choose(node, weights, view);
  const child = node.children[chosen];
  if (child === undefined) throw new GatewayError("no_target", `No target of ${node.path} can be chosen: every weight is 0.`);
  planning.choices.push({ at: node.path, mode: "loadbalance", sticky: node.sticky !== null, draw, weights, chosen });
  const first = planning.planNode(child.node, planning);
  if (node.hedge === null) return first;
  const others = closed.map((weight, index) => (index === chosen ? 0 : weight));
  if (others.every((weight) => weight === 0)) return first;
  const next = choose(node, selectWeights(node, others, withoutExploring(view)), view);
  const second = node.children[next.chosen];
  if (second === undefined) return first;
  planning.choices.push({ at: node.path, mode: "hedge", racers: [chosen, next.chosen], draw: next.draw });
  return hedgeNode(node.hedge, first, planning.planNode(second.node, planning));
}

/** The index that is drawn or kept; -1 when every weight is 0. Without the one chosen before, what is kept is the next in its order. */
function choose({ sticky }: LoadbalanceNode, weights: readonly number[], view: PlanView): { chosen: number; draw: number | null } {
  if (sticky !== null) return { chosen: chooseSticky(sticky, weights, view), draw: null };
  const draw = view.draw();
  return { chosen: chooseByWeight(weights, draw), draw };
}

/** A second target may never start, so it is not the try of one that nobody knows. */
function withoutExploring(view: PlanView): PlanView {
  return view.targets === null ? view : { ...view, targets: { ...view.targets, explore: () => false } };
}
