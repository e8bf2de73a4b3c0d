import type { Settlement } from "@unigate/contracts";
import { emptyUsage, type Usage } from "@unigate/core";
import type { PricedCall } from "@unigate/prices";
import { expect, test } from "vitest";
import { draftAttempt } from "./record.ts";
import { newHookState, type Run } from "./run-state.ts";
import { settle } from "./steps/settle.ts";
import type { TargetOutcome } from "./target-outcome.ts";

/** A run whose prices are one micro-USD a token of models that begin with "gpt". */
function running() {
  const settled: Settlement[] = [];
  const asked: PricedCall[] = [];
  const run = {
    deps: {
      clock: { now: () => 2_000 },
      settlements: { add: (settlement: Settlement) => void settled.push(settlement) },
      prices: {
        costOf(call: PricedCall) {
          asked.push(call);
          return call.model?.startsWith("gpt") === true ? call.usage.input : null;
        },
      },
    },
    request: {
      headers: {},
      surface: "chat",
      requestId: "r",
      trace: { traceId: "t", spanId: "s", parentSpanId: "" },
      principal: { tenant: { organisationId: "o", workspaceId: "w" }, key: { id: "k" } },
    },
    config: { id: "", version: "" },
    metadata: {},
    decision: {},
    usage: null,
    costMicro: null,
    hooks: newHookState(),
  } as unknown as Run;
  return { run, settled, asked };
}

function outcome(model: string, usage: Partial<Usage> | null, hit = false): TargetOutcome {
  return {
    result: {
      status: 200,
      failure: null,
      body: null,
      model: `${model}-exact`,
      finishReason: "",
      usage: usage === null ? null : { ...emptyUsage(), ...usage },
      timings: { upstreamMs: 1 },
    },
    attempt: 0,
    leaf: { optionPath: "config" },
    target: { provider: { id: "openai" }, slug: "" },
    shaped: { model, stream: false, body: Buffer.alloc(0), json: null },
    cache: { status: hit ? "HIT" : "MISS", hit: hit ? {} : null },
    retries: [],
    startedAt: 1_000,
  } as unknown as TargetOutcome;
}

const costsOf = (run: Run, ...outcomes: TargetOutcome[]) => outcomes.map((one) => draftAttempt(run, one, {}).head.cost_micro_usd);

test("each target has its cost, and all that is known is settled", () => {
  const { run, settled, asked } = running();
  const last = outcome("gpt-b", { input: 5 });
  expect(costsOf(run, outcome("gpt-a", { input: 7 }), outcome("strange", { input: 100 }), outcome("gpt-c", null), last)).toEqual([
    7,
    null,
    null,
    5,
  ]);
  settle(run, last);
  expect(settled).toMatchObject([{ costMicro: 12, usage: { input: 112 } }]);
  expect(asked[0]).toEqual({
    provider: "openai",
    model: "gpt-a",
    responseModel: "gpt-a-exact",
    usage: { ...emptyUsage(), input: 7 },
    time: 1_000,
  });
});

test("a stored answer costs nothing; nothing known is no cost", () => {
  const { run, settled } = running();
  const hit = outcome("gpt-a", null, true);
  expect(costsOf(run, hit)).toEqual([0]);
  settle(run, hit);
  const other = running();
  expect(costsOf(other.run, outcome("strange", { input: 3 }))).toEqual([null]);
  settle(other.run, outcome("strange", null));
  expect([settled[0]?.costMicro, other.settled[0]?.costMicro]).toEqual([0, undefined]);
});
