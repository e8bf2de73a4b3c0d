import type { FallbackNode } from "../config/types.ts";
import { usableChildren } from "./availability.ts";
import { hedgeNode } from "./hedge.ts";
import type { PlanNode, Planning } from "./types.ts";

/**
 * The targets in their order without those that are open, each with the statuses on which it is left (behaviour 2.3).
 * With a hedge the first two are one step, which is left as the second of them is.
 */
export function planFallback(node: FallbackNode, planning: Planning): PlanNode {
  const usable = usableChildren(node.children, node.path, planning);
  const children = usable === null ? node.children : node.children.filter((_, index) => usable[index] === true);
  const [first, second] = children;
  if (node.hedge === null || first === undefined || second === undefined) return inOrder(children, 0, planning, null);
  const racing = hedgeNode(node.hedge, planning.planNode(first.node, planning), planning.planNode(second.node, planning));
  return inOrder(children.slice(1), 0, planning, racing);
}

/**
 * Neighbours with the same statuses share one sequence; a target with its own list starts a nested one. `planned`
 * stands for the first of them when it is planned already.
 */
function inOrder(children: FallbackNode["children"], from: number, planning: Planning, planned: PlanNode | null): PlanNode {
  const leaveOn = children[from]?.leaveOn ?? null;
  const steps: PlanNode[] = [];
  for (let index = from; index < children.length; index++) {
    const child = children[index];
    if (child === undefined) break;
    const isLast = index === children.length - 1;
    if (!isLast && !sameStatuses(child.leaveOn, leaveOn)) {
      steps.push(inOrder(children, index, planning, null));
      break;
    }
    steps.push(index === from && planned !== null ? planned : planning.planNode(child.node, planning));
  }
  const [only] = steps;
  if (steps.length === 1 && only !== undefined) return only;
  return { kind: { $case: "sequence", value: { steps, onStatuses: leaveOn === null ? [] : [...leaveOn], anyNon2xx: leaveOn === null } } };
}

function sameStatuses(left: readonly number[] | null, right: readonly number[] | null): boolean {
  if (left === null || right === null) return left === right;
  return left.length === right.length && left.every((status, index) => status === right[index]);
}
