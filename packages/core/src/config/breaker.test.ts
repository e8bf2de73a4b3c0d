import { describe, expect, test } from "vitest";
import { compileConfig } from "./compile.ts";

const MOCK = { provider: "mock" };
const rule = (failure_threshold: number): object => ({ failure_threshold, cooldown_interval: 30_000 });
const fallback = (strategy: object, targets: object[], more: object = {}): object => ({
  strategy: { mode: "fallback", ...strategy },
  targets,
  ...more,
});

function compiled(json: object) {
  const result = compileConfig(json, "saved");
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

const thresholds = (json: object): unknown[] => compiled(json).leaves.map(({ breaker }) => breaker?.failureThreshold ?? null);

test.each<[string, object, unknown[]]>([
  ["none", fallback({}, [MOCK, MOCK]), [null, null]],
  ["of the config", fallback({}, [MOCK, MOCK], { cb_config: rule(1) }), [1, 1]],
  ["of the strategy, which goes first", fallback({ cb_config: rule(2) }, [MOCK, MOCK], { cb_config: rule(1) }), [2, 2]],
  ["a target's own", fallback({ cb_config: rule(2) }, [{ ...MOCK, cb_config: rule(3) }, MOCK]), [3, 2]],
  [
    "handed down to nested strategies, until one has its own",
    fallback({ cb_config: rule(1) }, [fallback({}, [MOCK]), fallback({ cb_config: rule(2) }, [MOCK, { ...MOCK, cb_config: rule(4) }])]),
    [1, 2, 4],
  ],
])("the breaker of a target: %s", (_case, json, expected) => {
  expect(thresholds(json)).toEqual(expected);
});

test("what is not said has a default, and a whole object replaces the one above", () => {
  const above = { failure_threshold: 2, minimum_requests: 9, failure_status_codes: [500], cooldown_interval: 30_000.4 };
  const own = { failure_threshold_percentage: 12.5, cooldown_interval: 2e9 };
  expect(compiled(fallback({ cb_config: above }, [MOCK, { ...MOCK, cb_config: own }])).leaves.map(({ breaker }) => breaker)).toEqual([
    { failureThreshold: 2, failurePercentage: null, minimumRequests: 9, cooldownMs: 30_000, failureStatuses: [500] },
    { failureThreshold: null, failurePercentage: 12.5, minimumRequests: 5, cooldownMs: 86_400_000, failureStatuses: null },
  ]);
});

describe("the router is asked", () => {
  test.each<[string, object, boolean]>([
    ["when any of several targets has a breaker", fallback({}, [MOCK, { ...MOCK, cb_config: rule(1) }]), true],
    ["not for the only target", fallback({ cb_config: rule(1) }, [MOCK]), false],
    ["not without a strategy", { ...MOCK, cb_config: rule(1) }, false],
  ])("%s", (_case, json, needed) => {
    expect(compiled(json).needsRouter).toBe(needed);
  });
});
