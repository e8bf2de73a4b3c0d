import { describe, expect, test } from "vitest";
import { problemsOf } from "../conditions/conditions.fixture.ts";

const NAMES = ["cheap", "smart", "smart-eu"];
const targets = (names: readonly (string | undefined)[]) =>
  names.map((name) => (name === undefined ? { provider: "mock" } : { provider: "mock", name }));

function conditional(then: string, otherwise: string, names: readonly (string | undefined)[] = NAMES): object {
  return {
    strategy: { mode: "conditional", conditions: [{ query: { "metadata.a": "x" }, then }], default: otherwise },
    targets: targets(names),
  };
}

describe("then and default name a target", () => {
  test.each<[config: object, problems: string[]]>([
    [conditional("cheap", "smart"), []],
    [conditional("cheap", "cheap", ["cheap", undefined, "double", "double"]), []],
    [conditional("smrt", "smart"), ['strategy.conditions[0].then: no target of this strategy is named "smrt"; did you mean "smart"?']],
    [conditional("smart", "other"), ['strategy.default: no target of this strategy is named "other"']],
    [conditional("", "smart"), ['strategy.conditions[0].then: no target of this strategy is named ""']],
    [conditional("constructor", "smart"), ['strategy.conditions[0].then: no target of this strategy is named "constructor"']],
    [
      conditional("double", "one", ["double", "one", "double"]),
      ['strategy.conditions[0].then: two targets are named "double": targets[0] and targets[2]'],
    ],
    [
      { strategy: { mode: "fallback" }, targets: [{ provider: "mock", name: "cheap" }, conditional("cheap", "outer")] },
      ['targets[1].strategy.default: no target of this strategy is named "outer"'],
    ],
    [
      { strategy: { mode: "conditional", conditions: [], default: "cheap" }, targets: targets(NAMES) },
      ["strategy.conditions: conditional mode needs conditions"],
    ],
    [
      { strategy: { mode: "conditional", conditions: [{ query: {}, then: "cheap" }] }, targets: targets(NAMES) },
      ["strategy.default: conditional mode needs the name of a default target"],
    ],
  ])("%#", (config, problems) => {
    for (const origin of ["saved", "inline"] as const)
      expect(problemsOf(config, origin).map(({ path, message }) => `${path}: ${message}`)).toEqual(problems);
  });

  test("names of 100,000 characters are compared with nothing", () => {
    const long = "n".repeat(100_000);
    const [problem] = problemsOf(conditional(long, "smart", ["smart", ...Array.from({ length: 30 }, (_, index) => long + index)]));
    expect(problem?.message.length).toBeLessThan(200);
  });
});

test.each([
  [{ mode: "fallback", sticky: { enabled: true } }, "strategy.sticky", 'can only be combined with mode "loadbalance"'],
  [{ mode: "loadbalance", sticky: { enabled: true, ttl: 0 } }, "strategy.sticky.ttl", "expected at least 1"],
  [{ mode: "loadbalance", sticky: { enabled: true, ttl: 31_536_001 } }, "strategy.sticky.ttl", "expected at most 31536000"],
  [
    { mode: "loadbalance", sticky: { enabled: true, hash_fields: ["params.a[*]"] } },
    "strategy.sticky.hash_fields[0]",
    "expected a path such as params.model, params.a[0].b or params.a.0.b",
  ],
  [
    { mode: "loadbalance", sticky: { enabled: true, hash_fields: ["metadata.a", "headers.x-api-key"] } },
    "strategy.sticky.hash_fields[1]",
    "the header x-api-key may carry a credential, which routing does not look at",
  ],
  [
    { mode: "loadbalance", sticky: { enabled: true, hash_fields: Array.from({ length: 21 }, () => "metadata.a") } },
    "strategy.sticky.hash_fields",
    "expected at most 20",
  ],
])("sticky: %#", (strategy, path, message) => {
  expect(problemsOf({ strategy, targets: targets([undefined]) })).toEqual([{ path, message }]);
});
