import type { Settlement } from "@unigate/contracts";
import { backgroundCall, GatewayError, type PlanHedge, type PlanNode } from "@unigate/core";
import type { LogDraft } from "@unigate/events";
import { until } from "@unigate/testkit";
import { expect, test } from "vitest";
import { createContentTimes } from "../content-times.ts";
import type { HedgeEvent } from "../edge-metrics.ts";
import { createHedgeBudgets } from "../hedge-budgets.ts";
import { failedAttempt } from "./attempt-result.ts";
import { attemptHedge } from "./hedge.ts";
import { newHookState, type Run } from "./run-state.ts";
import { cancelError } from "./steps/call.ts";
import type { TargetOutcome } from "./target-outcome.ts";

const PATHS = ["config.targets[0]", "config.targets[1]"];
const leaf = (index: number): PlanNode => ({ kind: { $case: "leaf", value: { index, optionPath: PATHS[index] ?? "", probeToken: "" } } });
const HEDGE: PlanHedge = { racers: [leaf(0), leaf(1)], delayMs: 1, budgetToken: "config" };

/** How a racer comes to its end; it may look at what was cancelled. */
type Script = (run: Run) => Promise<{ status: number; tokens?: number } | GatewayError>;

const silent: Script = (run) =>
  new Promise((resolve) => {
    run.call.cancel.onCancel(() => resolve(cancelError(run.call)));
  });

/** A hedge of two scripted targets, each of which reserves, and what came of it outside. */
function hedged(one: Script, two: Script, leaveOn: readonly (readonly number[] | null)[] | null = [null, null]) {
  const settled: Settlement[] = [];
  const offered: LogDraft[] = [];
  const events: HedgeEvent[] = [];
  const faults: unknown[] = [];
  const ends: string[] = [];
  const rule = { path: "config", delayMs: 1, percentile: null, maxExtraPercent: 50, leaveOn };
  const run = {
    deps: {
      spool: { offer: (draft: LogDraft) => void offered.push(draft) },
      leases: { end: () => void ends.push("lease") },
      clock: { now: () => 2_000 },
      settlements: { add: (settlement: Settlement) => void settled.push(settlement) },
      prices: { costOf: ({ usage }: { usage: { input: number } }) => usage.input },
      hedgeBudgets: createHedgeBudgets(),
      contentTimes: createContentTimes(),
      metrics: { hedged: (event: HedgeEvent) => void events.push(event) },
      log: { error: (about: { error: unknown }) => void faults.push(about.error), warn() {} },
    },
    request: {
      headers: {},
      surface: "chat",
      method: "POST",
      path: "/chat/completions",
      upload: null,
      requestId: "r",
      trace: { traceId: "t", spanId: "s", parentSpanId: "" },
      principal: { tenant: { organisationId: "o", workspaceId: "w" }, key: { id: "k" } },
    },
    call: backgroundCall(),
    config: {
      id: "",
      version: "",
      hash: Buffer.alloc(32),
      compiled: { hedges: new Map([["config", rule]]), leaves: PATHS.map((optionPath) => ({ optionPath, afterHooks: [] })) },
    },
    metadata: {},
    attempts: 0,
    decision: {},
    tried: [],
    planning: null,
    endTarget: null,
    isOver: false,
    limits: { isReserved: false, ofRequest: [], ofTarget: [] },
    hooks: newHookState(),
  } as unknown as Run;

  async function attempt(own: Run, { kind }: PlanNode): Promise<TargetOutcome> {
    const index = kind?.$case === "leaf" ? kind.value.index : 0;
    const number = own.attempts++;
    own.limits.isReserved = true;
    const said = await (index === 0 ? one : two)(own);
    const usage = said instanceof GatewayError || said.tokens === undefined ? null : { input: said.tokens };
    const result =
      said instanceof GatewayError
        ? failedAttempt(said, true)
        : { ...failedAttempt(new GatewayError("no_target")), status: said.status, failure: null, final: false, usage };
    return {
      result,
      attempt: number,
      called: true,
      leaf: { optionPath: PATHS[index] },
      target: { provider: { id: "openai", baseUrl: "https://api.openai.com/v1" }, slug: "", target: { customHost: "" } },
      shaped: { model: "m", stream: false, body: Buffer.alloc(0), json: null },
      cache: { status: "DISABLED", hit: null },
      retries: [],
      startedAt: 1_000,
    } as unknown as TargetOutcome;
  }
  const recorded = (): unknown[] =>
    offered.map(({ head }) => [head.option_path, head.attempt, head.outcome, head.status, head.cost_micro_usd]);
  return { run, go: () => attemptHedge(run, HEDGE, null, attempt), settled, recorded, events, faults, ends };
}

test("the loser is settled and logged once, though nobody waits for it", async () => {
  const { run, go, settled, recorded, events } = hedged(silent, async () => ({ status: 200, tokens: 3 }));
  const outcome = await go();
  expect([outcome.leaf.optionPath, outcome.attempt, run.attempts, run.limits.isReserved]).toEqual([PATHS[1], 1, 2, true]);
  await until("the loser's record", () => recorded().length > 0);
  expect(recorded()).toEqual([[PATHS[0], 0, "cancelled", 499, null]]);
  expect(settled).toMatchObject([{ attempt: 0, refundTarget: false, last: false }]);
  expect(events).toEqual(["started", "second_won"]);
});

test("a loser that had succeeded too is logged with what it used", async () => {
  let answer = (): void => {};
  const both = new Promise<void>((resolve) => (answer = resolve));
  const { go, settled, recorded } = hedged(
    async () => {
      await both;
      return { status: 200, tokens: 7 };
    },
    async () => {
      answer();
      await both;
      return { status: 200, tokens: 5 };
    },
  );
  const outcome = await go();
  const loser = outcome.attempt === 0 ? { attempt: 1, cost: 5 } : { attempt: 0, cost: 7 };
  await until("the loser's record", () => recorded().length > 0);
  expect(recorded()).toEqual([[PATHS[loser.attempt], loser.attempt, "cancelled", 499, loser.cost]]);
  expect(settled).toMatchObject([{ attempt: loser.attempt, costMicro: loser.cost, last: false }]);
});

test("a loser that ends after the request closes the reservation that it may have opened", async () => {
  let leave = (): void => {};
  const held = new Promise<void>((resolve) => (leave = resolve));
  const { run, go, settled, recorded, ends } = hedged(
    async (own) => {
      await held;
      return cancelError(own.call);
    },
    async () => ({ status: 200 }),
  );
  await go();
  run.isOver = true;
  expect(recorded()).toEqual([]);
  leave();
  await until("the loser's record", () => recorded().length > 0);
  expect(settled).toMatchObject([{ attempt: 0, last: true }]);
  expect(ends).toEqual(["lease"]);
});

test("of two failures the later counts, and the other is left", async () => {
  let fail = (): void => {};
  const failed = new Promise<void>((resolve) => (fail = resolve));
  const { run, go, recorded } = hedged(
    async () => {
      await failed;
      return { status: 503 };
    },
    async () => {
      fail();
      await new Promise(setImmediate);
      return { status: 502 };
    },
  );
  const outcome = await go();
  expect([outcome.result.status, recorded()]).toEqual([502, [[PATHS[0], 0, "failed", 503, null]]]);
  expect(run.decision).toMatchObject({ hedges: [{ second_started: true, winner: null, loser: null }] });
});

test("a fault of one leaves the other's outcome; a fault alone is thrown", async () => {
  const broken: Script = async () => {
    throw new Error("broken");
  };
  let go2 = (): void => {};
  const second = new Promise<void>((resolve) => (go2 = resolve));
  const one = hedged(
    async () => {
      await second;
      return { status: 503 };
    },
    async () => {
      go2();
      throw new Error("broken");
    },
  );
  expect((await one.go()).result.status).toBe(503);
  expect(one.faults).toEqual(["Error: broken"]);
  await expect(hedged(broken, silent).go()).rejects.toThrow("broken");
});

test("a client that leaves ends both", async () => {
  const { run, go, recorded, events } = hedged(silent, silent);
  const outcome = go();
  await until("both to run", () => events.includes("started"));
  run.call.cancel.cancel("client_gone");
  expect((await outcome).result.failure?.code).toBe("client_closed");
  expect(recorded()).toEqual([[PATHS[0], 0, "cancelled", 499, null]]);
});

test.each([
  ["a fallback goes on at its target's own statuses", [[503], null], 503, 2],
  ["and stays at others", [[429], null], 503, 1],
  ["a balancer's second follows any failure", null, 418, 2],
] as const)("before the delay is over: %s", async (_, leaveOn, status, attempts) => {
  const { run, go } = hedged(
    async () => ({ status }),
    async () => ({ status: 200 }),
    leaveOn,
  );
  expect((await go()).result.status).toBe(attempts === 2 ? 200 : status);
  expect(run.attempts).toBe(attempts);
});
