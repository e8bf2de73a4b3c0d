import type { CheckVerdict, Outside, PreparedCheck } from "@unigate/checks";
import { CheckRequest } from "@unigate/contracts";
import { backgroundCall, CancelToken, systemClock } from "@unigate/core";
import { describe, expect, test } from "vitest";
import { readInput } from "./input.ts";
import type { PreparedHookCheck } from "./prepare.ts";
import { type CheckRun, runCheck } from "./run-check.ts";
import { Turn } from "./turn.ts";

const INPUT = readInput(CheckRequest.fromPartial({ phase: "before", body: Buffer.from("t"), provider: "openai" }));
const post: Outside["post"] = () => Promise.reject(new Error("nothing is outside"));

function running(over: Partial<CheckRun> = {}): CheckRun {
  return { input: INPUT, call: backgroundCall(), clock: systemClock, timeoutMs: 5_000, turn: new Turn(), post, ...over };
}

function ready(run: PreparedCheck, failOnError = false, longestMs: number | null = null): PreparedHookCheck {
  return { id: "test.check", failOnError, prepare: () => ({ kind: "ready", phases: ["before"], run, longestMs }) };
}

const never = () => new Promise<CheckVerdict>(() => {});

describe("one check", () => {
  test("its verdict and data are told", async () => {
    const clock = { now: () => Date.parse("2026-03-04T05:06:07.890Z") };
    const { result, rewritten } = await runCheck(
      ready(() => Promise.resolve({ verdict: true, data: { a: 1 } })),
      running({ clock }),
    );
    expect(result).toEqual({
      id: "test.check",
      verdict: true,
      data: { a: 1 },
      execution_time: 0,
      transformed: false,
      created_at: "2026-03-04T05:06:07.890Z",
      log: null,
      fail_on_error: false,
    });
    expect(rewritten).toBeNull();
  });

  test("a new body is handed on, and told of", async () => {
    const outcome = await runCheck(
      ready(() => ({ verdict: false, data: null, rewritten: { a: 1 } })),
      running(),
    );
    expect(outcome).toMatchObject({ result: { verdict: false, transformed: true }, rewritten: { a: 1 } });
  });

  test("an external one has a time of its own, and hears when it is over", async () => {
    const reasons: unknown[] = [];
    const check = ready(
      (_input, { call }) => new Promise<CheckVerdict>(() => call.cancel.onCancel((reason) => reasons.push(reason))),
      false,
      20,
    );
    const { result } = await runCheck(check, running({ timeoutMs: 1 }));
    expect(result).toMatchObject({ error: { name: "CheckTimeoutError", message: "the check took longer than 20 ms" } });
    expect(reasons).toEqual(["deadline"]);
  });

  test("one that is not external reaches nobody", async () => {
    const { result } = await runCheck(
      ready(async (_input, outside) => ({
        verdict: true,
        data: await outside.post({ url: "", headers: {}, body: Buffer.alloc(0), timeoutMs: 1, maxAnswerBytes: 1 }, outside.call),
      })),
      running(),
    );
    expect(result.data).toMatchObject({ kind: "failed", code: "refused" });
  });

  test("one that would outlast the call is an error while there is time to say so", async () => {
    const call = backgroundCall(Date.now() + 600);
    const { result } = await runCheck(ready(never), running({ call }));
    expect(result).toMatchObject({ error: { name: "CheckTimeoutError" } });
    expect(Date.now()).toBeLessThan(call.deadline);
  });

  test("a long message is cut", async () => {
    const { result } = await runCheck(
      ready(() => Promise.reject(new Error("x".repeat(5_000)))),
      running(),
    );
    expect(result.error?.message).toHaveLength(1_000);
  });

  test("one that takes too long is an error", async () => {
    const { result } = await runCheck(ready(never), running({ timeoutMs: 10 }));
    expect(result).toMatchObject({ verdict: false, error: { name: "CheckTimeoutError", message: "the check took longer than 10 ms" } });
  });

  test("one whose request was given up ends at once", async () => {
    const cancel = new CancelToken();
    const result = runCheck(ready(never), running({ call: { ...backgroundCall(), cancel } }));
    cancel.cancel("client_gone");
    expect((await result).result).toMatchObject({ verdict: false, error: { name: "CheckCancelledError" } });
  });

  test("one is not begun when its request was given up or its deadline has passed", async () => {
    const cancel = new CancelToken();
    cancel.cancel("client_gone");
    const begun: string[] = [];
    const check = ready(() => {
      begun.push("ran");
      return { verdict: true, data: null };
    });
    for (const call of [{ ...backgroundCall(), cancel }, backgroundCall(1)]) {
      expect((await runCheck(check, running({ call }))).result).toMatchObject({ error: { name: "CheckCancelledError" } });
    }
    expect(begun).toEqual([]);
  });

  test("in a phase it is not made for it is an error", async () => {
    const { result } = await runCheck(ready(never), running({ input: { ...INPUT, phase: "after" } }));
    expect(result).toMatchObject({ error: { name: "CheckPhaseError", message: "test.check does not run after a request" } });
  });

  test.each([
    [
      "thrown",
      () => {
        throw new TypeError("broken");
      },
      { name: "TypeError", message: "broken" },
    ],
    ["rejected", () => Promise.reject(new Error("gone")), { name: "Error", message: "gone" }],
    [
      "thrown as no error",
      () => {
        throw "text" as unknown as Error;
      },
      { name: "Error", message: "text" },
    ],
  ])("what is %s is its error", async (_name, run, error) => {
    expect((await runCheck(ready(run, true), running())).result).toMatchObject({ verdict: false, data: null, error, fail_on_error: true });
  });
});
