import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Asked, compiledConfig, factsOf } from "../conditions/conditions.fixture.ts";
import type { LoadbalanceNode, StickyRule } from "../config/types.ts";
import { chooseSticky } from "./choose-sticky.ts";
import { planConfig } from "./plan.ts";
import { viewOf } from "./plan-view.fixture.ts";

const NEVER = (): number => {
  throw new Error("nothing is drawn");
};

function configOf(weights: readonly number[], sticky: object = {}): object {
  return {
    strategy: { mode: "loadbalance", sticky: { enabled: true, ...sticky } },
    targets: weights.map((weight) => ({ provider: "mock", weight })),
  };
}

function ruleOf(weights: readonly number[], sticky: object = {}): StickyRule {
  const { sticky: rule } = compiledConfig(configOf(weights, sticky)).root as LoadbalanceNode;
  if (rule === null) throw new Error("not sticky");
  return rule;
}

/** What a key gets. */
function chosen(rule: StickyRule, weights: readonly number[], principalId: string, now = 0): number {
  return chooseSticky(rule, weights, viewOf(NEVER, { principalId }, now));
}

const weight = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 10 }) }, fc.constant(0));
const weights = fc.array(weight, { minLength: 2, maxLength: 6 }).filter((list) => list.some((value) => value > 0));
const KEYS = 3_000;

test("shares follow the weights, and weight 0 is never chosen", () => {
  fc.assert(
    fc.property(weights, fc.string(), fc.nat(), (list, prefix, now) => {
      const rule = ruleOf(list);
      const counts = list.map(() => 0);
      for (let key = 0; key < KEYS; key++) {
        const index = chosen(rule, list, `${prefix}${key}`, now);
        counts[index] = (counts[index] ?? 0) + 1;
      }
      const total = list.reduce((sum, value) => sum + value, 0);
      for (const [index, value] of list.entries()) {
        const share = value / total;
        // Six standard deviations.
        const most = 6 * Math.sqrt((share * (1 - share)) / KEYS) + 1e-9;
        expect(Math.abs((counts[index] ?? 0) / KEYS - share)).toBeLessThanOrEqual(most);
      }
    }),
    { numRuns: 40 },
  );
});

test("a target that leaves moves only those who had it", () => {
  fc.assert(
    fc.property(weights, fc.nat(), (list, at) => {
      const rule = ruleOf(list);
      const gone = at % list.length;
      const left = list.map((value, index) => (index === gone ? 0 : value));
      for (let key = 0; key < 200; key++) {
        const before = chosen(rule, list, `key-${key}`);
        const after = chosen(rule, left, `key-${key}`);
        if (before === gone) expect(after).not.toBe(gone);
        else expect(after).toBe(before);
      }
    }),
    { numRuns: 100 },
  );
});

test("every replica chooses the same, whatever was chosen before", () => {
  const list = [3, 1, 2];
  const [one, other] = [ruleOf(list, { hash_fields: ["metadata.user"] }), ruleOf(list, { hash_fields: ["metadata.user"] })];
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.nat(), (principalId, user, now) => {
      const view = viewOf(NEVER, { principalId, metadata: { user } }, now);
      expect(chooseSticky(one, list, view)).toBe(chooseSticky(other, list, view));
    }),
  );
});

test("weights of any size", () => {
  const rule = ruleOf([1, 1]);
  for (let key = 0; key < 50; key++) {
    expect(chosen(rule, [Number.MAX_VALUE, Number.MIN_VALUE], `key-${key}`)).toBe(0);
    expect(chosen(rule, [1e-300, 1], `key-${key}`)).toBe(1);
    expect(chosen(rule, [0, 0], `key-${key}`)).toBe(-1);
  }
});

describe("time", () => {
  test("a choice is kept for ttl and then made anew, at another moment for each key", () => {
    const ttlMs = 60_000;
    const rule = ruleOf([1, 1, 1, 1], { ttl: 60 });
    const moments = new Set<number>();
    let moved = 0;
    for (let key = 0; key < 300; key++) {
      const at = (now: number) => chosen(rule, [1, 1, 1, 1], `key-${key}`, now);
      let changes = 0;
      for (let now = 1_000; now <= ttlMs; now += 1_000) {
        if (at(now) === at(now - 1_000)) continue;
        changes += 1;
        moments.add(now);
      }
      // One ttl holds the end of one period and no more.
      expect(changes).toBeLessThanOrEqual(1);
      moved += changes;
    }
    // Three of four targets are others.
    expect(moved / 300).toBeGreaterThan(0.6);
    expect(moved / 300).toBeLessThan(0.9);
    expect(moments.size).toBeGreaterThan(40);
  });

  test("an hour when nothing is said", () => {
    expect(ruleOf([1, 1]).ttlMs).toBe(3_600_000);
    expect(ruleOf([1, 1], { ttl: 31_536_000 }).ttlMs).toBe(31_536_000_000);
  });
});

describe("who asks", () => {
  const list = Array.from({ length: 50 }, () => 1);
  const rule = ruleOf(list, { hash_fields: ["metadata.user", "params.session.id", "headers.X-Device"] });
  const choose = (asked: Asked, principalId = "key-1") => chooseSticky(rule, list, viewOf(NEVER, { ...factsOf(asked), principalId }));
  const base: Asked = { metadata: { user: "u", other: "a" }, body: { session: { id: 5 }, model: "a" }, headers: { "x-device": "d" } };

  test("is told by the key and the fields, and by nothing else", () => {
    const same: Asked = {
      metadata: { user: "u", other: "b" },
      body: { session: { id: 5 }, model: "b" },
      headers: { "x-device": "d", "x-b": "c" },
    };
    expect(choose(same)).toBe(choose(base));
    const others = [
      choose(base, "key-2"),
      choose({ ...base, metadata: { user: "v" } }),
      choose({ ...base, body: { session: { id: 6 } } }),
      choose({ ...base, headers: { "x-device": "e" } }),
      choose({}),
    ];
    // 50 targets: two of six that fall together are rare, and the hash is the same in each run.
    expect(new Set([choose(base), ...others]).size).toBeGreaterThanOrEqual(5);
  });

  test("one value in place of another is somebody else", () => {
    const seen = new Set<number>();
    for (const value of ["5", 5, null, true, "true", '5"|params.session.id:"5']) seen.add(choose({ body: { session: { id: value } } }));
    expect(seen.size).toBeGreaterThanOrEqual(5);
  });
});

test("the plan says that the choice was kept, and nothing is drawn", () => {
  const config = compiledConfig(configOf([1, 1]));
  const plan = () => planConfig(config, viewOf(NEVER, { principalId: "key-7" }));
  const { choices } = plan();
  expect(choices).toEqual([{ at: "config", mode: "loadbalance", sticky: true, draw: null, weights: [1, 1], chosen: expect.any(Number) }]);
  expect(plan()).toEqual(plan());
});

test("sticky that is off draws", () => {
  expect((compiledConfig(configOf([1, 1], { enabled: false })).root as LoadbalanceNode).sticky).toBeNull();
});
