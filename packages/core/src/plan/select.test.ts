import { expect, test } from "vitest";
import type { LoadbalanceNode } from "../config/types.ts";
import { viewOf } from "./plan-view.fixture.ts";
import { selectWeights } from "./select.ts";

type Known = (number | null)[];

function selected(select: LoadbalanceNode["select"], weights: number[], known: Known, explorable: number[] = []): readonly number[] {
  const children = weights.map((weight, leaf) => ({ weight, node: { kind: "leaf" as const, leaf, optionPath: "" } }));
  const read = (leaf: number): number | null => known[leaf] ?? null;
  return selectWeights({ kind: "loadbalance", path: "config", sticky: null, hedge: null, select, children }, weights, {
    ...viewOf(() => 0),
    price: read,
    targets: {
      look: () => "closed",
      beginProbe: () => "",
      latencyMs: read,
      inFlight: (leaf) => read(leaf) ?? 0,
      explore: (leaf) => explorable.includes(leaf),
    },
  });
}

test.each<[string, LoadbalanceNode["select"], number[], Known, number[], number[]]>([
  ["weighted leaves all as they are", "weighted", [1, 2, 0], [1, 2, 3], [0], [1, 2, 0]],
  ["the fastest", "least_latency", [1, 1, 1], [300, 100, 200], [], [0, 1, 0]],
  ["with who is nearly as fast, by weight", "least_latency", [5, 1, 1], [109, 100, 200], [], [5, 1, 0]],
  ["first one that nobody has tried lately", "least_latency", [1, 1, 1], [300, 100, null], [2], [0, 0, 1]],
  ["but not while another tries it", "least_latency", [1, 1, 1], [300, 100, null], [], [0, 1, 0]],
  ["nobody was tried: by weight", "least_latency", [1, 2, 3], [null, null, null], [], [1, 2, 3]],
  ["weight 0 is not even tried", "least_latency", [0, 1, 1], [null, 100, 200], [0], [0, 1, 0]],
  ["the fewest under way", "least_busy", [1, 1, 1], [2, 1, 3], [], [0, 1, 0]],
  ["for its weight", "least_busy", [4, 1, 1], [3, 1, 2], [], [4, 0, 0]],
  ["all idle: by weight", "least_busy", [4, 1, 0], [0, 0, 0], [], [4, 1, 0]],
  ["the cheapest", "lowest_cost", [1, 1, 1], [30, 20, 10], [], [0, 0, 1]],
  ["as cheap: by weight", "lowest_cost", [3, 1, 1], [10, 10, 20], [], [3, 1, 0]],
  ["an unknown price comes last", "lowest_cost", [1, 1, 1], [null, 20, null], [], [0, 1, 0]],
  ["no price is known: by weight", "lowest_cost", [1, 2, 3], [null, null, null], [], [1, 2, 3]],
  ["free is cheap", "lowest_cost", [1, 1], [0, 1], [], [1, 0]],
])("%s", (_case, select, weights, known, explorable, expected) => {
  expect(selected(select, weights, known, explorable)).toEqual(expected);
});

test("without a router nothing is known: by weight", () => {
  const children = [1, 2].map((weight, leaf) => ({ weight, node: { kind: "leaf" as const, leaf, optionPath: "" } }));
  for (const select of ["least_latency", "least_busy", "lowest_cost"] as const)
    expect(
      selectWeights(
        { kind: "loadbalance", path: "config", sticky: null, hedge: null, select, children },
        [1, 2],
        viewOf(() => 0),
      ),
    ).toEqual([1, 2]);
});
