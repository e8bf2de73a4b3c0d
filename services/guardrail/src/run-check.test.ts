import type { CheckInput, CheckVerdict } from "@unigate/checks";
import { backgroundCall, CancelToken, systemClock } from "@unigate/core";
import { describe, expect, test } from "vitest";
import type { PreparedHookCheck } from "./prepare.ts";
import { type CheckRun, runCheck } from "./run-check.ts";
import { Turn } from "./turn.ts";

const INPUT: CheckInput = { phase: "before", text: "t", request: {}, reply: null, metadata: {}, model: "" };

function running(over: Partial<CheckRun> = {}): CheckRun {
  return { input: INPUT, call: backgroundCall(), clock: systemClock, timeoutMs: 5_000, turn: new Turn(), ...over };
}

function ready(run: () => CheckVerdict | Promise<CheckVerdict>, failOnError = false): PreparedHookCheck {
  return { id: "test.check", failOnError, prepare: () => ({ kind: "ready", phases: ["before"], run }) };
}

const never = () => new Promise<CheckVerdict>(() => {});

describe("one check", () => {
  test("its verdict and data are told", async () => {
    const clock = { now: () => Date.parse("2026-03-04T05:06:07.890Z") };
    const result = await runCheck(
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
  });

  test("one that takes too long is an error", async () => {
    const result = await runCheck(ready(never), running({ timeoutMs: 10 }));
    expect(result).toMatchObject({ verdict: false, error: { name: "CheckTimeoutError", message: "the check took longer than 10 ms" } });
  });

  test("one whose request was given up ends at once", async () => {
    const cancel = new CancelToken();
    const result = runCheck(ready(never), running({ call: { ...backgroundCall(), cancel } }));
    cancel.cancel("client_gone");
    expect(await result).toMatchObject({ verdict: false, error: { name: "CheckCancelledError" } });
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
      expect(await runCheck(check, running({ call }))).toMatchObject({ error: { name: "CheckCancelledError" } });
    }
    expect(begun).toEqual([]);
  });

  test("in a phase it is not made for it is an error", async () => {
    const result = await runCheck(ready(never), running({ input: { ...INPUT, phase: "after" } }));
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
    expect(await runCheck(ready(run, true), running())).toMatchObject({ verdict: false, data: null, error, fail_on_error: true });
  });
});
