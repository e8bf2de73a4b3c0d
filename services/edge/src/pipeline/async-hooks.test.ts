import type { CheckReply, CheckRequest, GuardrailPort } from "@unigate/contracts";
import { bufferOfJson, type Call } from "@unigate/core";
import { type LogDraft, newHead } from "@unigate/events";
import type { Logger } from "@unigate/runtime";
import { expect, test } from "vitest";
import { createBackground } from "../background.ts";
import { hasAsyncHooks, recordWithAsyncHooks } from "./async-hooks.ts";
import { newHookState, type Run } from "./run-state.ts";
import { effectiveHook, type Hook } from "./steps/resolve-hooks.ts";
import type { TargetOutcome } from "./target-outcome.ts";

const log = { warn() {} } as unknown as Logger;
const BODY = Buffer.from('{"choices":[]}');
const hook = (id: string, async: boolean): Hook =>
  effectiveHook({ id, inlineJson: bufferOfJson({ id, async, checks: [{ id: "default.contains" }] }) }, null);
const reply = (results: unknown[]): CheckReply => ({
  verdict: "pass",
  hookResultsJson: bufferOfJson(results),
  body: Buffer.alloc(0),
  addMetadata: {},
});
const answerAll = (request: CheckRequest): Promise<CheckReply> => Promise.resolve(reply(request.hooks.map(({ id }) => id)));

/** A run whose guardrail service is this function, and what of it reached the log. */
function running(check: GuardrailPort["check"]) {
  const offered: LogDraft[] = [];
  const background = createBackground(log);
  const hooks = newHookState();
  hooks.resolved = { before: [hook("b", true), hook("sync", false)], after: [hook("a", true)] };
  const run = {
    deps: {
      background,
      log,
      guardrail: { check },
      clock: { now: () => Date.now() },
      spool: { offer: (draft: LogDraft) => void offered.push(structuredClone(draft)) },
    },
    request: { headers: {}, json: null, body: null, principal: { tenant: {} }, trace: { traceId: "t", traceparent: "" } },
    metadata: {},
    hooks,
    spoolNumber: 7,
  } as unknown as Run;
  const outcome = {
    result: { status: 200 },
    target: { provider: { id: "openai" } },
    shaped: { body: BODY, json: null, model: "m", stream: false },
  } as unknown as TargetOutcome;
  const draft: LogDraft = { head: newHead("id", 1), request: null, response: null };
  return { run, outcome, draft, offered, background };
}
const resultsOf = (offered: readonly LogDraft[]): unknown[] => offered.map(({ head }) => head.hook_results);

test("the record goes out once, with what both phases said", async () => {
  const { run, outcome, draft, offered, background } = running(answerAll);
  recordWithAsyncHooks(run, outcome, draft, BODY);
  expect(offered).toEqual([]);
  await background.finish(60_000);
  expect(resultsOf(offered)).toEqual([{ before_request_hooks: ["b"], after_request_hooks: ["a"] }]);
});

test("results that the answer told come first", async () => {
  const { run, outcome, draft, offered, background } = running(answerAll);
  draft.head.hook_results = { before_request_hooks: ["sync"], after_request_hooks: [] };
  recordWithAsyncHooks(run, outcome, draft, BODY);
  await background.finish(60_000);
  expect(resultsOf(offered)).toEqual([{ before_request_hooks: ["sync", "b"], after_request_hooks: ["a"] }]);
});

test("without an answer only the request is checked", async () => {
  const { run, outcome, draft, offered, background } = running(answerAll);
  recordWithAsyncHooks(run, outcome, draft, null);
  await background.finish(60_000);
  expect(resultsOf(offered)).toEqual([{ before_request_hooks: ["b"], after_request_hooks: [] }]);
});

test("without the service it goes out as it was", async () => {
  const { run, outcome, draft, offered, background } = running(() => Promise.reject(new Error("down")));
  recordWithAsyncHooks(run, outcome, draft, BODY);
  await background.finish(60_000);
  expect(resultsOf(offered)).toEqual([null]);
});

test("without room it goes out at once", () => {
  const { run, outcome, draft, offered, background } = running(answerAll);
  background.run(() => new Promise<void>(() => {}), 64 * 1_024 * 1_024);
  recordWithAsyncHooks(run, outcome, draft, BODY);
  expect([resultsOf(offered), background.dropped]).toEqual([[null], 1]);
});

test("when the process ends nobody waits for a hook that hangs", async () => {
  const hangs = (_request: CheckRequest, call: Call): Promise<CheckReply> =>
    new Promise((_resolve, reject) => call.cancel.onCancel((reason) => reject(new Error(reason))));
  const { run, outcome, draft, offered, background } = running(hangs);
  recordWithAsyncHooks(run, outcome, draft, BODY);
  await background.finish(1);
  expect(resultsOf(offered)).toEqual([null]);
  recordWithAsyncHooks(run, outcome, draft, BODY);
  await background.finish(1);
  expect(offered.length).toBe(2);
});

test("hooks that were waited for are none to wait for", () => {
  const { run } = running(answerAll);
  expect(hasAsyncHooks(run)).toBe(true);
  run.hooks.resolved = { before: [hook("sync", false)], after: [] };
  expect(hasAsyncHooks(run)).toBe(false);
});
