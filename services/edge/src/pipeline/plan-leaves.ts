import { GatewayError, type PlanLeaf, type PlanNode } from "@unigate/core";

/** The leaf that is tried first. */
export function firstLeaf(plan: PlanNode): PlanLeaf {
  const { kind } = plan;
  if (kind?.$case === "leaf") return kind.value;
  const first = kind?.$case === "sequence" ? kind.value.steps[0] : kind?.value.racers[0];
  if (first === undefined) throw new GatewayError("no_target");
  return firstLeaf(first);
}

/** The leaves of a plan in the order in which they would be tried. */
export function leavesInOrder({ kind }: PlanNode): PlanLeaf[] {
  if (kind?.$case === "leaf") return [kind.value];
  const below = kind?.$case === "sequence" ? kind.value.steps : (kind?.value.racers ?? []);
  return below.flatMap(leavesInOrder);
}
