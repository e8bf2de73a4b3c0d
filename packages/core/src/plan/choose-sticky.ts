import { fieldValue } from "../conditions/evaluate.ts";
import type { StickyRule } from "../config/types.ts";
import { type Hash, hashOfBoth, hashOfText } from "./hash-of-text.ts";
import type { PlanView } from "./types.ts";

const TWO_POW_20 = 2 ** 20;
const TWO_POW_52 = 2 ** 52;

/**
 * The index that one who asks keeps for `ttlMs`: weighted rendezvous hashing over who asks, the target's option path
 * and the period. Every replica chooses the same without any state; a target that leaves (weight 0) moves only those
 * who had it, and shares follow the weights. -1 when every weight is 0.
 */
export function chooseSticky(sticky: StickyRule, weights: readonly number[], view: PlanView): number {
  const asker = hashOfText(identifierOf(sticky, view));
  // Periods begin at another moment for each who asks, so that they do not all move at once.
  const period = Math.floor((view.now + unitOf(asker) * sticky.ttlMs) / sticky.ttlMs);
  let best = -1;
  let lowest = Number.POSITIVE_INFINITY;
  for (let index = 0; index < weights.length; index++) {
    const weight = weights[index] ?? 0;
    const target = sticky.targets[index];
    if (weight <= 0 || target === undefined) continue;
    // The largest -weight / ln(unit) wins; as logarithms no weight is too large or too small.
    const cost = Math.log(-Math.log(unitOf(hashOfBoth(asker, target, period)))) - Math.log(weight);
    if (best >= 0 && cost >= lowest) continue;
    best = index;
    lowest = cost;
  }
  return best;
}

/** Who asks: the key, and what the hash fields say of the request; fields without a value are left out. */
function identifierOf(sticky: StickyRule, view: PlanView): string {
  let identifier = view.facts.principalId;
  for (const { name, field } of sticky.fields) {
    const value = fieldValue(field, view.facts);
    if (value !== undefined) identifier += `|${name}:${JSON.stringify(value)}`;
  }
  return identifier;
}

/** A number in (0, 1), never 0 or 1. */
function unitOf({ high, low }: Hash): number {
  return (high * TWO_POW_20 + (low >>> 12) + 0.5) / TWO_POW_52;
}
