import { expect, test } from "vitest";
import { compileConfig } from "../config/compile.ts";
import { planConfig } from "./plan.ts";
import { viewOf } from "./plan-view.fixture.ts";
import type { Availability, PlanChoice, PlanNode, PlanTargets } from "./types.ts";

const MOCK = { provider: "mock" };
const HEDGE = { hedge: { delay_ms: 300 } };
const FALLBACK = { strategy: { mode: "fallback", ...HEDGE } };
/** Of the first four targets, ms; of others nothing is known. */
const LATENCIES = [300, 100, 200, 900];
const BALANCE = { strategy: { mode: "loadbalance", ...HEDGE } };

function planned(config: object, states: readonly Availability[] = [], draws: readonly number[] = [0]) {
  const compiled = compileConfig({ cb_config: { failure_threshold: 1, cooldown_interval: 30_000 }, ...config }, "inline");
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems));
  const left = [...draws];
  const targets: PlanTargets = {
    look: (leaf) => states[leaf] ?? "closed",
    beginProbe: () => "",
    latencyMs: (leaf) => LATENCIES[leaf] ?? null,
    explore: () => true,
    inFlight: () => 0,
  };
  const { plan, choices } = planConfig(compiled.config, { ...viewOf(() => left.shift() ?? 0), targets });
  return { plan: short(plan), choices: choices as PlanChoice[], hedges: compiled.config.hedges, needsRouter: compiled.config.needsRouter };
}

/** A plan in short: "0" = the first target, "0|1" = a race, [..] = a sequence, with the statuses that it goes on at. */
function short({ kind }: PlanNode): unknown {
  if (kind?.$case === "leaf") return kind.value.optionPath.replace("config.", "").replaceAll(/targets\[(\d+)\]/g, "$1");
  if (kind?.$case === "hedge") return `${kind.value.racers.map(short).join("|")} after ${kind.value.delayMs}`;
  return { on: kind?.value.anyNon2xx === true ? "any" : kind?.value.onStatuses, steps: kind?.value.steps.map(short) };
}

test.each<[string, object, Availability[], unknown]>([
  ["two targets race", { ...FALLBACK, targets: [MOCK, MOCK] }, [], "0|1 after 300"],
  ["the third follows both", { ...FALLBACK, targets: [MOCK, MOCK, MOCK] }, [], { on: "any", steps: ["0|1 after 300", "2"] }],
  ["one target is alone", { ...FALLBACK, targets: [MOCK] }, [], "0"],
  ["the first two that are usable", { ...FALLBACK, targets: [MOCK, MOCK, MOCK] }, ["open"], "1|2 after 300"],
  ["one that is usable is alone", { ...FALLBACK, targets: [MOCK, MOCK] }, ["closed", "open"], "0"],
  [
    "the two are left as the second is",
    { ...FALLBACK, targets: [{ ...MOCK, on_status_codes: [429] }, { ...MOCK, on_status_codes: [503] }, MOCK, MOCK] },
    [],
    { on: [503], steps: ["0|1 after 300", { on: "any", steps: ["2", "3"] }] },
  ],
  ["a balancer's choice and another", { ...BALANCE, targets: [MOCK, MOCK, MOCK] }, [], "0|1 after 300"],
  ["one of weight 0 never races", { ...BALANCE, targets: [MOCK, { ...MOCK, weight: 0 }] }, [], "0"],
  ["nor one that is open", { ...BALANCE, targets: [MOCK, MOCK] }, ["open", "closed"], "1"],
  ["a strategy below", { ...FALLBACK, targets: [{ ...BALANCE, targets: [MOCK, MOCK] }, MOCK] }, [], "0.0|0.1 after 300|1 after 300"],
  [
    "a percentile is filled in by the edge",
    { strategy: { mode: "fallback", hedge: { percentile: 95 } }, targets: [MOCK, MOCK] },
    [],
    "0|1 after 0",
  ],
])("%s", (_case, config, states, plan) => {
  expect(planned(config, states).plan).toEqual(plan);
});

test("the second is drawn from the weights that are left, and told", () => {
  const targets = [
    { ...MOCK, weight: 1 },
    { ...MOCK, weight: 2 },
    { ...MOCK, weight: 1 },
  ];
  const { plan, choices } = planned({ ...BALANCE, targets }, [], [0.5, 0.9]);
  expect(plan).toBe("1|2 after 300");
  expect(choices).toEqual([
    { at: "config", mode: "loadbalance", sticky: false, draw: 0.5, weights: [1, 2, 1], chosen: 1 },
    { at: "config", mode: "hedge", racers: [1, 2], draw: 0.9 },
  ]);
});

test("the second of a sticky choice is the one that would be chosen without the first", () => {
  const targets = [MOCK, MOCK, MOCK, MOCK];
  const sticky = { strategy: { ...BALANCE.strategy, sticky: { enabled: true } } };
  const { choices } = planned({ ...sticky, targets });
  const [, hedge] = choices;
  if (hedge?.mode !== "hedge") throw new Error("no hedge");
  const [first, second] = hedge.racers;
  const without = planned({ ...sticky, targets: targets.map((target, index) => ({ ...target, weight: index === first ? 0 : 1 })) });
  expect(without.choices[0]).toMatchObject({ chosen: second });
  expect(hedge.draw).toBeNull();
});

test("the second of the fastest is the next fastest, and never one that nobody knows", () => {
  const fastest = { strategy: { ...BALANCE.strategy, select: "least_latency" } };
  expect(planned({ ...fastest, targets: [MOCK, MOCK, MOCK, MOCK] }).plan).toBe("1|2 after 300");
  expect(planned({ ...fastest, targets: [MOCK, MOCK, MOCK, MOCK, MOCK, MOCK] }).plan).toBe("4|1 after 300");
});

test("its rule is found by the path of its strategy, and needs no router", () => {
  const { hedges, needsRouter } = planned({ cb_config: undefined, ...FALLBACK, targets: [{ ...MOCK, on_status_codes: [429] }, MOCK] });
  expect([...hedges]).toEqual([
    ["config", { path: "config", delayMs: 300, percentile: null, maxExtraPercent: 10, leaveOn: [[429], null] }],
  ]);
  expect(needsRouter).toBe(false);
});
