import type { CompiledNode } from "../config/types.ts";
import { chosenTarget } from "./conditional.ts";
import type { Availability, Planning } from "./types.ts";

/** A child; one of weight 0 is never chosen, whatever its breaker. */
interface Child {
  readonly weight?: number;
  readonly node: CompiledNode;
}

/**
 * Which children may be used, by their index; null = all of them. Without one that is closed all are used: a breaker
 * spares a target only while there is another (behaviour 2.6).
 */
export function usableChildren(children: readonly Child[], at: string, planning: Planning): readonly boolean[] | null {
  if (planning.view.targets === null) return null;
  const found = children.map((child) => childAvailability(child, planning));
  if (found.every((availability) => availability === "closed" || availability === null)) return null;
  const open = [...found.keys()].filter((index) => found[index] === "open" || found[index] === "probe");
  const bypassed = !found.includes("closed");
  planning.choices.push({ at, mode: "breaker", open, bypassed });
  return bypassed ? null : found.map((availability) => availability !== "open");
}

/** Of a strategy: the best of its targets, so it is open when all of them are; of conditions the target that they choose. */
function availabilityOf(node: CompiledNode, planning: Planning): Availability {
  switch (node.kind) {
    case "leaf":
      return planning.view.targets?.look(node.leaf) ?? "closed";
    case "single":
      return availabilityOf(node.child, planning);
    case "loadbalance":
    case "fallback":
      return bestOf(node.children, planning);
    case "conditional": {
      const target = chosenTarget(node, planning);
      return target === undefined ? "closed" : availabilityOf(target, planning);
    }
  }
}

function bestOf(children: readonly Child[], planning: Planning): Availability {
  let best: Availability = "open";
  for (const child of children) {
    const availability = childAvailability(child, planning);
    if (availability === "closed") return "closed";
    if (availability === "probe") best = "probe";
  }
  return best;
}

function childAvailability({ weight, node }: Child, planning: Planning): Availability | null {
  return weight === 0 ? null : availabilityOf(node, planning);
}
