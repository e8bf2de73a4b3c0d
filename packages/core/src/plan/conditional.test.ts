import { expect, test } from "vitest";
import { type Asked, compiledConfig, factsOf } from "../conditions/conditions.fixture.ts";
import { planConfig } from "./plan.ts";
import { viewOf } from "./plan-view.fixture.ts";
import type { Planned } from "./types.ts";

function planned(config: unknown, asked: Asked): Planned {
  return planConfig(
    compiledConfig(config),
    viewOf(() => 0, factsOf(asked)),
  );
}

const BY_TIER = {
  strategy: {
    mode: "conditional",
    conditions: [
      { query: { "metadata.tier": "paid" }, then: "smart" },
      { query: { "metadata.tier": { $in: ["paid", "trial"] } }, then: "nested" },
    ],
    default: "cheap",
  },
  targets: [
    { provider: "mock", name: "cheap" },
    { provider: "mock", name: "smart" },
    { name: "nested", strategy: { mode: "fallback" }, targets: [{ provider: "mock" }, { provider: "mock" }] },
  ],
};

test("the first condition that holds decides", () => {
  const { plan, choices } = planned(BY_TIER, { metadata: { tier: "paid" } });
  expect(plan).toEqual({ kind: { $case: "leaf", value: { index: 1, optionPath: "config.targets[1]", probeToken: "" } } });
  expect(choices).toEqual([
    { at: "config", mode: "conditional", evaluated: [{ then: "smart", matched: true }], condition: 0, chosen: 1, name: "smart" },
  ]);
});

test("a chosen target may have a strategy of its own", () => {
  const { plan, choices } = planned(BY_TIER, { metadata: { tier: "trial" } });
  expect(plan.kind?.$case).toBe("sequence");
  expect(choices[0]).toMatchObject({
    evaluated: [
      { then: "smart", matched: false },
      { then: "nested", matched: true },
    ],
    condition: 1,
    chosen: 2,
  });
});

test("when none holds the default is taken", () => {
  const { choices } = planned(BY_TIER, { metadata: { tier: "free" } });
  expect(choices[0]).toMatchObject({ condition: null, chosen: 0, name: "cheap" });
  expect(planned(BY_TIER, {}).choices[0]).toMatchObject({ condition: null, chosen: 0 });
});

test("a condition below another strategy is asked where it stands", () => {
  const config = { strategy: { mode: "fallback" }, targets: [{ provider: "mock" }, BY_TIER] };
  expect(planned(config, { metadata: { tier: "paid" } }).choices).toMatchObject([{ at: "config.targets[1]", chosen: 1 }]);
});

test("the decision of a thousand conditions stays small and holds nothing of the request", () => {
  const conditions = Array.from({ length: 900 }, (_, index) => ({ query: { "params.model": `m-${index}` }, then: `t-${index}` }));
  const names = [...conditions.map(({ then }) => then), "rest"];
  const config = {
    strategy: { mode: "conditional", conditions, default: "rest" },
    targets: names.map((name) => ({ provider: "mock", name })),
  };
  const choice = planned(config, { body: { model: "m-700" } }).choices[0];
  expect(choice).toMatchObject({ condition: 700, chosen: 700, name: "t-700" });
  expect(JSON.stringify(choice).length).toBeLessThan(1_500);
  expect(JSON.stringify(choice)).not.toContain("m-700");
});
