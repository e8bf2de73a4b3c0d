import type { PlanLeaf, PlanNode } from "@unigate/core";

/** The plan as the explanation shows it: targets by their option paths. */
export type PlanTree =
  | { readonly target: string }
  | { readonly in_order: readonly PlanTree[]; readonly go_on_at: readonly number[] | "every status outside 200 to 299" }
  | { readonly race: readonly PlanTree[]; readonly delay_ms: number };

export function planTree({ kind }: PlanNode): PlanTree {
  switch (kind?.$case) {
    case "leaf":
      return { target: kind.value.optionPath };
    case "sequence":
      return {
        in_order: kind.value.steps.map(planTree),
        go_on_at: kind.value.anyNon2xx ? "every status outside 200 to 299" : kind.value.onStatuses,
      };
    case "hedge":
      return { race: kind.value.racers.map(planTree), delay_ms: kind.value.delayMs };
    case undefined:
      return { in_order: [], go_on_at: [] };
  }
}

/** The leaves of a plan in the order in which they would be tried. */
export function leavesInOrder({ kind }: PlanNode): PlanLeaf[] {
  if (kind?.$case === "leaf") return [kind.value];
  const below = kind?.$case === "sequence" ? kind.value.steps : (kind?.value.racers ?? []);
  return below.flatMap(leavesInOrder);
}
