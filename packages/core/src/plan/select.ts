import type { CompiledNode, LoadbalanceNode } from "../config/types.ts";
import type { PlanView } from "./types.ts";

/** Latencies this near to the best are as good: who is a little slower is not left by everybody at once. */
const AS_GOOD = 1.1;

/**
 * The weights among which the draw decides: those of the targets that `select` prefers, 0 for all others. Where nothing
 * is known they stay as they are. A strategy below counts as the first of its targets.
 *
 * least_latency: the fastest by recent answers; one without a recent answer is tried now and then, first.
 * least_busy: the fewest requests under way for its weight. lowest_cost: the cheapest whose price is known.
 */
export function selectWeights({ select, children }: LoadbalanceNode, weights: readonly number[], view: PlanView): readonly number[] {
  if (select === "weighted") return weights;
  const leaves = children.map(({ node }) => firstLeaf(node));
  const candidates = [...weights.keys()].filter((index) => (weights[index] ?? 0) > 0);
  const scoreOf = (index: number): number | null => scoreFor(select, leaves[index] ?? 0, weights[index] ?? 1, view);
  const scores = new Map(candidates.map((index) => [index, scoreOf(index)]));
  if (select === "least_latency") {
    for (const index of candidates)
      if (scores.get(index) === null && view.targets?.explore(leaves[index] ?? 0) === true) return only(weights, new Set([index]));
  }
  const known = [...scores.values()].filter((score) => score !== null);
  if (known.length === 0) return weights;
  const best = Math.min(...known) * (select === "least_latency" ? AS_GOOD : 1);
  return only(weights, new Set(candidates.filter((index) => (scores.get(index) ?? Number.POSITIVE_INFINITY) <= best)));
}

/** Less is better; null = not known. */
function scoreFor(select: LoadbalanceNode["select"], leaf: number, weight: number, view: PlanView): number | null {
  switch (select) {
    case "least_latency":
      return view.targets?.latencyMs(leaf) ?? null;
    case "least_busy": {
      const inFlight = view.targets?.inFlight(leaf) ?? null;
      return inFlight === null ? null : inFlight / weight;
    }
    default:
      return view.price(leaf);
  }
}

function only(weights: readonly number[], chosen: ReadonlySet<number>): number[] {
  return weights.map((weight, index) => (chosen.has(index) ? weight : 0));
}

function firstLeaf(node: CompiledNode): number {
  if (node.kind === "leaf") return node.leaf;
  const child = node.kind === "single" ? node.child : node.children[0];
  if (child === undefined) throw new Error("the schema lets no empty list of targets through");
  return firstLeaf("node" in child ? child.node : child);
}
