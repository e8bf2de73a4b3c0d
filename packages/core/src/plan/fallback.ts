import type { FallbackNode } from "../config/types.ts";
import { usableChildren } from "./availability.ts";
import type { PlanNode, Planning } from "./types.ts";

/** The targets in their order without those that are open, each with the statuses on which it is left (behaviour 2.3). */
export function planFallback(node: FallbackNode, planning: Planning): PlanNode {
  const usable = usableChildren(node.children, node.path, planning);
  return inOrder(usable === null ? node.children : node.children.filter((_, index) => usable[index] === true), 0, planning);
}

/** Neighbours with the same statuses share one sequence; a target with its own list starts a nested one. */
function inOrder(children: FallbackNode["children"], from: number, planning: Planning): PlanNode {
  const leaveOn = children[from]?.leaveOn ?? null;
  const steps: PlanNode[] = [];
  for (let index = from; index < children.length; index++) {
    const child = children[index];
    if (child === undefined) break;
    const isLast = index === children.length - 1;
    if (!isLast && !sameStatuses(child.leaveOn, leaveOn)) {
      steps.push(inOrder(children, index, planning));
      break;
    }
    steps.push(planning.planNode(child.node, planning));
  }
  const [only] = steps;
  if (steps.length === 1 && only !== undefined) return only;
  return { kind: { $case: "sequence", value: { steps, onStatuses: leaveOn === null ? [] : [...leaveOn], anyNon2xx: leaveOn === null } } };
}

function sameStatuses(left: readonly number[] | null, right: readonly number[] | null): boolean {
  if (left === null || right === null) return left === right;
  return left.length === right.length && left.every((status, index) => status === right[index]);
}
