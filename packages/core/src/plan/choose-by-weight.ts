/**
 * The index that a number in [0, 1) falls on when each weight takes its share of the whole. Weight 0 is never
 * chosen; -1 when nothing can be (behaviour 2.2).
 */
export function chooseByWeight(weights: readonly number[], draw: number): number {
  let total = 0;
  for (const weight of weights) total += weight;
  // Weights near the largest number: their shares are what counts, not their size.
  if (total === Number.POSITIVE_INFINITY) return chooseByWeight(scaledDown(weights), draw);
  let left = draw * total;
  let last = -1;
  for (let index = 0; index < weights.length; index++) {
    const weight = weights[index] ?? 0;
    if (weight <= 0) continue;
    last = index;
    if (left < weight) return index;
    left -= weight;
  }
  return last;
}

function scaledDown(weights: readonly number[]): number[] {
  return weights.map((weight) => weight / weights.length);
}
