import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileConfig } from "../config/compile.ts";
import type { CompiledConfig, CompiledNode } from "../config/types.ts";
import { GatewayError } from "../errors.ts";
import { planConfig } from "./plan.ts";
import { viewOf } from "./plan-view.fixture.ts";
import type { PlanNode } from "./types.ts";

interface Node {
  readonly provider?: string;
  readonly weight?: number;
  readonly on_status_codes?: readonly number[];
  readonly strategy?: { readonly mode: "single" | "fallback" | "loadbalance"; readonly on_status_codes?: readonly number[] };
  readonly targets?: readonly Node[];
}

function compiled(config: Node): CompiledConfig {
  const result = compileConfig(config, "saved");
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

function planOf(config: Node, draw = 0): PlanNode {
  return planConfig(
    compiled(config),
    viewOf(() => draw),
  ).plan;
}

/** A plan in short: a leaf is its path, a sequence its steps and statuses. */
function short(plan: PlanNode): unknown {
  const { kind } = plan;
  if (kind?.$case === "leaf") return kind.value.optionPath;
  if (kind?.$case !== "sequence") throw new Error("unexpected node");
  return { on: kind.value.anyNon2xx ? "any" : kind.value.onStatuses, steps: kind.value.steps.map(short) };
}

const MOCK: Node = { provider: "mock" };

describe("plans", () => {
  test("no strategy: the config itself", () => {
    expect(planOf(MOCK)).toEqual({ kind: { $case: "leaf", value: { index: 0, optionPath: "config", probeToken: "" } } });
  });

  test("single: the first target", () => {
    expect(short(planOf({ strategy: { mode: "single" }, targets: [MOCK, MOCK] }))).toBe("config.targets[0]");
  });

  test("fallback: any status that is no success by default", () => {
    expect(short(planOf({ strategy: { mode: "fallback" }, targets: [MOCK, MOCK] }))).toEqual({
      on: "any",
      steps: ["config.targets[0]", "config.targets[1]"],
    });
  });

  test("the strategy's statuses win over its config's (DESIGN 8.9)", () => {
    const targets = [MOCK, MOCK];
    expect(short(planOf({ strategy: { mode: "fallback", on_status_codes: [429] }, on_status_codes: [500], targets }))).toMatchObject({
      on: [429],
    });
    expect(short(planOf({ strategy: { mode: "fallback" }, on_status_codes: [500], targets }))).toMatchObject({ on: [500] });
  });

  test("no statuses: never left", () => {
    expect(short(planOf({ strategy: { mode: "fallback", on_status_codes: [] }, targets: [MOCK, MOCK] }))).toMatchObject({ on: [] });
  });

  test("a target's own statuses replace the list for leaving it", () => {
    const targets = [MOCK, { ...MOCK, on_status_codes: [503] }, MOCK];
    expect(short(planOf({ strategy: { mode: "fallback", on_status_codes: [429] }, targets }))).toEqual({
      on: [429],
      steps: ["config.targets[0]", { on: [503], steps: ["config.targets[1]", "config.targets[2]"] }],
    });
  });

  test("the last target's own statuses change nothing", () => {
    const targets = [MOCK, { ...MOCK, on_status_codes: [503] }];
    expect(short(planOf({ strategy: { mode: "fallback" }, targets }))).toEqual({
      on: "any",
      steps: ["config.targets[0]", "config.targets[1]"],
    });
  });

  test("one target needs no sequence", () => {
    expect(short(planOf({ strategy: { mode: "fallback" }, targets: [MOCK] }))).toBe("config.targets[0]");
  });

  test("load balancing is decided, and the choice told", () => {
    const config = { strategy: { mode: "loadbalance" }, targets: [{ ...MOCK, weight: 3 }, MOCK, { ...MOCK, weight: 0 }] } as const;
    const { plan, choices } = planConfig(
      compiled(config),
      viewOf(() => 0.8),
    );
    expect(short(plan)).toBe("config.targets[1]");
    expect(choices).toEqual([{ at: "config", mode: "loadbalance", sticky: false, draw: 0.8, weights: [3, 1, 0], chosen: 1 }]);
  });

  test("one draw for each balancer that is reached", () => {
    const balance = { strategy: { mode: "loadbalance" }, targets: [MOCK, MOCK] } as const;
    const config = {
      strategy: { mode: "fallback" },
      targets: [balance, { strategy: { mode: "loadbalance" }, targets: [balance, MOCK] }],
    } as const;
    const draws = [0.9, 0.1, 0.9];
    const { plan, choices } = planConfig(
      compiled(config),
      viewOf(() => draws.shift() ?? 0),
    );
    expect(short(plan)).toEqual({ on: "any", steps: ["config.targets[0].targets[1]", "config.targets[1].targets[0].targets[1]"] });
    expect(choices.map((choice) => [choice.at, choice.mode === "loadbalance" && choice.chosen])).toEqual([
      ["config.targets[0]", 1],
      ["config.targets[1]", 0],
      ["config.targets[1].targets[0]", 1],
    ]);
  });

  test("nothing to choose from is no_target", () => {
    const leaf: CompiledNode = { kind: "leaf", leaf: 0, optionPath: "config.targets[0]" };
    const config: CompiledConfig = {
      ...compiled(MOCK),
      root: { kind: "loadbalance", select: "weighted", path: "config", sticky: null, hedge: null, children: [{ weight: 0, node: leaf }] },
    };
    expect(() =>
      planConfig(
        config,
        viewOf(() => 0),
      ),
    ).toThrow(expect.objectContaining({ code: "no_target", constructor: GatewayError }));
  });
});

// The same walk twice: over the plan as the edge does it, and over the config as a reader of the documentation would.

interface Visit {
  readonly path: string;
  readonly status: number;
}

/** Statuses in the order of the attempts; the last one repeats. */
function statusesOf(list: readonly number[]): () => number {
  let next = 0;
  return () => list[Math.min(next++, list.length - 1)] ?? 200;
}

function walkPlan(plan: PlanNode, status: () => number, visits: Visit[]): number {
  const { kind } = plan;
  if (kind?.$case === "leaf") {
    const visit = { path: kind.value.optionPath, status: status() };
    visits.push(visit);
    return visit.status;
  }
  if (kind?.$case !== "sequence") throw new Error("unexpected node");
  const { steps, onStatuses, anyNon2xx } = kind.value;
  let last = 0;
  for (const step of steps) {
    last = walkPlan(step, status, visits);
    if (!(anyNon2xx ? last < 200 || last > 299 : onStatuses.includes(last))) return last;
  }
  return last;
}

function walkConfig(node: Node, path: string, draw: number, status: () => number, visits: Visit[]): number {
  const { strategy, targets = [] } = node;
  const go = (index: number) => walkConfig(targets[index] ?? {}, `${path}.targets[${index}]`, draw, status, visits);
  switch (strategy?.mode) {
    case undefined: {
      const visit = { path, status: status() };
      visits.push(visit);
      return visit.status;
    }
    case "single":
      return go(0);
    case "loadbalance": {
      const ticket = draw * targets.reduce((sum, target) => sum + (target.weight ?? 1), 0);
      let sold = 0;
      return go(targets.findIndex((target) => (sold += target.weight ?? 1) > ticket));
    }
    case "fallback": {
      let last = 0;
      for (const [index, target] of targets.entries()) {
        last = go(index);
        const leaveOn = target.on_status_codes ?? strategy.on_status_codes ?? node.on_status_codes;
        const leaves = leaveOn === undefined ? last < 200 || last >= 300 : leaveOn.includes(last);
        if (!leaves) return last;
      }
      return last;
    }
  }
}

const status = fc.constantFrom(200, 204, 246, 301, 400, 429, 446, 500, 503, 529);
const lists = fc.option(fc.uniqueArray(status, { maxLength: 3 }), { nil: undefined });
const weights = fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined });

const { node } = fc.letrec<{ node: Node; leaf: Node; branch: Node }>((tie) => ({
  node: fc.oneof({ maxDepth: 4, depthSize: "medium" }, tie("leaf"), tie("branch")),
  leaf: fc.tuple(lists, weights).map(([list, weight]) => clean({ provider: "mock", on_status_codes: list, weight })),
  branch: fc
    .tuple(
      fc.constantFrom("single", "fallback", "fallback", "loadbalance"),
      fc.array(tie("node"), { minLength: 1, maxLength: 4 }),
      lists,
      lists,
      weights,
    )
    .map(([mode, targets, strategyList, list, weight]) =>
      clean({
        strategy: clean({ mode, on_status_codes: strategyList }),
        on_status_codes: list,
        weight,
        // A balancer needs one target that can be chosen.
        targets: targets.map((target, index) => (mode === "loadbalance" && index === 0 ? { ...target, weight: 1 } : target)),
      }),
    ),
}));

function clean(value: Record<string, unknown>): Node {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Node;
}

test("walking the plan visits the targets of a walk over the config, in the same order, for any statuses", () => {
  fc.assert(
    fc.property(node, fc.array(status, { minLength: 1, maxLength: 30 }), fc.constantFrom(0, 0.3, 0.5, 0.9), (config, statuses, draw) => {
      const planned: Visit[] = [];
      const naive: Visit[] = [];
      const answer = walkPlan(planOf(config, draw), statusesOf(statuses), planned);
      expect(answer).toBe(walkConfig(config, "config", draw, statusesOf(statuses), naive));
      expect(planned).toEqual(naive);
    }),
    { numRuns: 1_000 },
  );
});

test("option paths of a plan are those of its leaves", () => {
  fc.assert(
    fc.property(node, (config) => {
      const { leaves } = compiled(config);
      const check = ({ kind }: PlanNode): void => {
        if (kind?.$case === "leaf") expect(leaves[kind.value.index]?.optionPath).toBe(kind.value.optionPath);
        else if (kind?.$case === "sequence") for (const step of kind.value.steps) check(step);
      };
      check(planOf(config));
    }),
  );
});
