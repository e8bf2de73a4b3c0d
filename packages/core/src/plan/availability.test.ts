import { expect, test } from "vitest";
import { compileConfig } from "../config/compile.ts";
import { planConfig } from "./plan.ts";
import { viewOf } from "./plan-view.fixture.ts";
import type { Availability, PlanNode } from "./types.ts";

const NO_MEASURES = { latencyMs: () => null, explore: () => false, inFlight: () => 0 };
const MOCK = { provider: "mock" };
const BREAKER = { failure_threshold: 1, cooldown_interval: 30_000 };
const BALANCE = { strategy: { mode: "loadbalance" }, targets: [{ ...MOCK, weight: 3 }, MOCK, { ...MOCK, weight: 0 }] };
/** Chooses its second target. */
const CONDITIONAL = {
  strategy: { mode: "conditional", conditions: [{ query: {}, then: "b" }], default: "a" },
  targets: [
    { ...MOCK, name: "a" },
    { ...MOCK, name: "b" },
  ],
};
const FALLBACK = { strategy: { mode: "fallback" }, targets: [MOCK, MOCK, MOCK] };

function planned(json: object, states: readonly Availability[]) {
  const compiled = compileConfig({ cb_config: BREAKER, ...json }, "inline");
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems));
  const begun: number[] = [];
  const { plan, choices } = planConfig(compiled.config, {
    ...viewOf(() => 0),
    targets: {
      ...NO_MEASURES,
      look: (leaf) => states[leaf] ?? "closed",
      beginProbe(leaf) {
        if (states[leaf] !== "probe") return "";
        begun.push(leaf);
        return "token";
      },
    },
  });
  return { leaves: leavesOf(plan), begun, breakers: choices.filter(({ mode }) => mode === "breaker") };
}

function leavesOf({ kind }: PlanNode): string[] {
  if (kind?.$case === "leaf")
    return [kind.value.optionPath.replaceAll(/config\.?|targets/g, "") + (kind.value.probeToken === "" ? "" : "?")];
  return (kind?.$case === "sequence" ? kind.value.steps : []).flatMap(leavesOf);
}

test.each<[string, object, Availability[], string[]]>([
  ["fallback skips what is open", FALLBACK, ["open", "closed", "open"], ["[1]"]],
  ["and keeps the place of a probe", FALLBACK, ["closed", "probe", "open"], ["[0]", "[1]?"]],
  ["unless nothing is closed", FALLBACK, ["open", "probe", "open"], ["[0]", "[1]?", "[2]"]],
  ["a balancer gives no weight to what is open", BALANCE, ["open"], ["[1]"]],
  ["one of weight 0 is no alternative", BALANCE, ["open", "open", "closed"], ["[0]"]],
  ["a balancer is open with all that it could choose", { ...FALLBACK, targets: [BALANCE, MOCK] }, ["open", "open", "closed"], ["[1]"]],
  [
    "conditions are open with the target that they choose",
    { ...FALLBACK, targets: [CONDITIONAL, MOCK] },
    ["closed", "open", "closed"],
    ["[1]"],
  ],
  ["and closed with it", { ...FALLBACK, targets: [CONDITIONAL, MOCK] }, ["open", "closed", "closed"], ["[0].[1]", "[1]"]],
  ["and closed with one", { ...FALLBACK, targets: [BALANCE, MOCK] }, ["open", "closed", "closed"], ["[0].[1]", "[1]"]],
  [
    "a strategy with one target is as that target",
    { ...FALLBACK, targets: [{ strategy: { mode: "single" }, targets: [MOCK] }, MOCK] },
    ["open"],
    ["[1]"],
  ],
  [
    "bypassed above, bypassed below",
    { ...FALLBACK, targets: [FALLBACK, MOCK] },
    ["open", "open", "open", "open"],
    ["[0].[0]", "[0].[1]", "[0].[2]", "[1]"],
  ],
])("%s", (_case, config, states, leaves) => {
  expect(planned(config, states).leaves).toEqual(leaves);
});

test("a probe begins only in a plan that has it", () => {
  expect(planned(BALANCE, ["closed", "probe"])).toMatchObject({ leaves: ["[0]"], begun: [] });
  expect(planned({ ...FALLBACK, targets: [FALLBACK, MOCK] }, ["probe", "open", "open", "closed"]).begun).toEqual([0]);
});

test("a target that conditions name is used although it is open, and that is said", () => {
  expect(planned(CONDITIONAL, ["closed", "open"])).toMatchObject({
    leaves: ["[1]"],
    breakers: [{ at: "config", mode: "breaker", open: [1], bypassed: true }],
  });
  expect(planned(CONDITIONAL, ["open", "closed"]).breakers).toEqual([]);
});

test("nothing is said of breakers while all are closed", () => {
  expect(planned(FALLBACK, []).breakers).toEqual([]);
});

test("the statuses on which a target is left stay its own", () => {
  const targets = [MOCK, { ...MOCK, on_status_codes: [429] }, MOCK];
  const compiled = compileConfig({ strategy: { mode: "fallback", cb_config: BREAKER }, targets }, "inline");
  if (!compiled.ok) throw new Error("invalid");
  const view = {
    ...viewOf(() => 0),
    targets: { ...NO_MEASURES, look: (leaf: number) => (leaf === 0 ? ("open" as const) : ("closed" as const)), beginProbe: () => "" },
  };
  expect(planConfig(compiled.config, view).plan.kind).toMatchObject({ value: { onStatuses: [429], anyNon2xx: false } });
});
