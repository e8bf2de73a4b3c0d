import type { CompiledNode } from "../config/types.ts";
import type { Availability, Planning, PlanView } from "./types.ts";

/** A child; one of weight 0 is never chosen, whatever its breaker. */
interface Child {
  readonly weight?: number;
  readonly node: CompiledNode;
}

/**
 * Which children may be used, by their index; null = all of them. Without one that is closed all are used: a breaker
 * spares a target only while there is another (behaviour 2.6).
 */
export function usableChildren(children: readonly Child[], at: string, { view, choices }: Planning): readonly boolean[] | null {
  if (view.targets === null) return null;
  const found = children.map((child) => childAvailability(child, view));
  if (found.every((availability) => availability === "closed" || availability === null)) return null;
  const open = [...found.keys()].filter((index) => found[index] === "open" || found[index] === "probe");
  const bypassed = !found.includes("closed");
  choices.push({ at, mode: "breaker", open, bypassed });
  return bypassed ? null : found.map((availability) => availability !== "open");
}

/** Of a strategy: the best of its targets, so it is open when all of them are. */
function availabilityOf(node: CompiledNode, view: PlanView): Availability {
  switch (node.kind) {
    case "leaf":
      return view.targets?.look(node.leaf) ?? "closed";
    case "single":
      return availabilityOf(node.child, view);
    case "loadbalance":
    case "fallback":
      return bestOf(node.children, view);
  }
}

function bestOf(children: readonly Child[], view: PlanView): Availability {
  let best: Availability = "open";
  for (const child of children) {
    const availability = childAvailability(child, view);
    if (availability === "closed") return "closed";
    if (availability === "probe") best = "probe";
  }
  return best;
}

function childAvailability({ weight, node }: Child, view: PlanView): Availability | null {
  return weight === 0 ? null : availabilityOf(node, view);
}
