import type { Settlement } from "@unigate/contracts";
import { emptyUsage, type Usage } from "@unigate/core";
import type { LogDraft } from "@unigate/events";
import type { PricedCall } from "@unigate/prices";
import { expect, test } from "vitest";
import { finishRun } from "./finish.ts";
import { recordAttempt } from "./record.ts";
import { newHookState, type Run } from "./run-state.ts";
import type { TargetOutcome } from "./target-outcome.ts";

/** A run whose prices are one micro-USD a token of models that begin with "gpt". */
function running() {
  const settled: Settlement[] = [];
  const asked: PricedCall[] = [];
  const offered: LogDraft[] = [];
  const run = {
    deps: {
      spool: { offer: (draft: LogDraft) => void offered.push(draft) },
      leases: { end() {} },
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
    tried: [],
    planning: null,
    limits: { isReserved: true, ofRequest: [], ofTarget: [] },
    hooks: newHookState(),
  } as unknown as Run;
  return { run, settled, asked, offered };
}

function outcome(model: string, usage: Partial<Usage> | null, hit = false, customHost = ""): TargetOutcome {
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
    called: !hit,
    leaf: { optionPath: "config" },
    target: { provider: { id: "openai", baseUrl: "https://api.openai.com/v1" }, slug: "", target: { customHost } },
    shaped: { model, stream: false, body: Buffer.alloc(0), json: null },
    cache: { status: hit ? "HIT" : "MISS", hit: hit ? {} : null },
    retries: [],
    startedAt: 1_000,
  } as unknown as TargetOutcome;
}

function recorded({ run }: ReturnType<typeof running>, ...outcomes: TargetOutcome[]): void {
  for (const one of outcomes.slice(0, -1)) recordAttempt(run, one);
  const last = outcomes.at(-1);
  if (last !== undefined) finishRun(run, last, { body: null, end: null, cancelled: false });
}

test("each target has its cost, which is settled with its usage", () => {
  const run = running();
  recorded(run, outcome("gpt-a", { input: 7 }), outcome("strange", { input: 100 }), outcome("gpt-c", null), outcome("gpt-b", { input: 5 }));
  expect(run.offered.map(({ head }) => head.cost_micro_usd)).toEqual([7, null, null, 5]);
  expect(run.settled.map(({ costMicro, usage, last }) => [costMicro, usage?.input, last])).toEqual([
    [7, 7, false],
    [undefined, 100, false],
    [undefined, undefined, false],
    [5, 5, true],
  ]);
  expect(run.asked[0]).toEqual({
    provider: "openai",
    model: "gpt-a",
    responseModel: "gpt-a-exact",
    usage: { ...emptyUsage(), input: 7 },
    time: 1_000,
  });
});

test("a stored answer costs nothing, and its target gets back what was taken; nothing known is no cost", () => {
  const [stored, unknown] = [running(), running()];
  recorded(stored, outcome("gpt-a", null, true));
  recorded(unknown, outcome("strange", { input: 3 }));
  expect([stored, unknown].map(({ offered }) => offered[0]?.head.cost_micro_usd)).toEqual([0, null]);
  expect([stored, unknown].map(({ settled }) => [settled[0]?.costMicro, settled[0]?.refundTarget])).toEqual([
    [0, true],
    [undefined, false],
  ]);
});

test("a request that no limit counts settles nothing", () => {
  const run = running();
  run.run.limits.isReserved = false;
  recorded(run, outcome("gpt-a", { input: 7 }), outcome("gpt-b", { input: 5 }));
  expect([run.offered.length, run.settled.length]).toEqual([2, 0]);
});

test.each([
  ["", "api.openai.com"],
  ["https://eu.example.com:8443/v1", "eu.example.com"],
  ["http://[::1]:9/v1", "[::1]"],
  ["nonsense", null],
])("called at %j is called at the host %s", (customHost, host) => {
  const run = running();
  const one = outcome("gpt-a", null, false, customHost);
  recorded(run, one, one);
  expect(run.offered.map(({ head }) => [head.server_address, head.last])).toEqual([
    [host, false],
    [host, true],
  ]);
});
