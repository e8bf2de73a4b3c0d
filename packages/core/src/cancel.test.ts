import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CancelToken, LONGEST_TIMER_MS, sleep, toAbortSignal } from "./cancel.ts";

describe("CancelToken", () => {
  test("starts uncancelled", () => {
    const token = new CancelToken();
    expect(token.cancelled).toBe(false);
    expect(token.reason).toBeNull();
  });

  test("calls every listener once, in the order they came, with the first reason", () => {
    const token = new CancelToken();
    const calls: string[] = [];
    for (const name of ["a", "b", "c"]) token.onCancel((reason) => calls.push(`${name} ${reason}`));
    token.cancel("deadline");
    token.cancel("shutdown");
    expect(calls).toEqual(["a deadline", "b deadline", "c deadline"]);
    expect(token.reason).toBe("deadline");
    expect(token.cancelled).toBe(true);
  });

  test("calls a late listener at once", () => {
    const token = new CancelToken();
    token.cancel("peer");
    const listener = vi.fn();
    token.onCancel(listener)();
    expect(listener.mock.calls).toEqual([["peer"]]);
  });

  test("a listener that was removed is not called; removing twice takes nobody else out", () => {
    const token = new CancelToken();
    const calls: string[] = [];
    token.onCancel(() => calls.push("a"));
    const stop = token.onCancel(() => calls.push("b"));
    token.onCancel(() => calls.push("c"));
    stop();
    stop();
    token.cancel("client_gone");
    expect(calls).toEqual(["a", "c"]);
  });

  test("a listener may remove another one that waits", () => {
    const token = new CancelToken();
    const calls: string[] = [];
    let stopThird = (): void => {};
    token.onCancel(() => {
      calls.push("first");
      stopThird();
    });
    token.onCancel(() => calls.push("second"));
    stopThird = token.onCancel(() => calls.push("third"));
    token.onCancel(() => calls.push("fourth"));
    token.cancel("superseded");
    expect(calls).toEqual(["first", "second", "fourth"]);
  });

  test("a listener may remove itself and those already called without anyone being passed over", () => {
    const token = new CancelToken();
    const calls: string[] = [];
    const stopFirst = token.onCancel(() => calls.push("first"));
    const stopSecond = token.onCancel(() => {
      calls.push("second");
      stopFirst();
      stopSecond();
    });
    token.onCancel(() => calls.push("third"));
    token.cancel("peer");
    expect(calls).toEqual(["first", "second", "third"]);
  });

  test("a listener may cancel again and listen again", () => {
    const token = new CancelToken();
    const calls: string[] = [];
    token.onCancel(() => {
      token.cancel("shutdown");
      token.onCancel((reason) => calls.push(`late ${reason}`));
      calls.push("first");
    });
    token.onCancel((reason) => calls.push(`second ${reason}`));
    token.cancel("deadline");
    expect(calls).toEqual(["late deadline", "first", "second deadline"]);
  });
});

test("toAbortSignal fires with the token, also when it is late", () => {
  const token = new CancelToken();
  const signal = toAbortSignal(token);
  expect(signal.aborted).toBe(false);
  token.cancel("client_gone");
  expect(signal.reason).toEqual(new Error("client_gone"));
  expect(toAbortSignal(token).aborted).toBe(true);
});

describe("sleep", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is true when the time has passed, and no longer listens", async () => {
    const token = new CancelToken();
    const slept = sleep(1_000, token);
    await vi.advanceTimersByTimeAsync(1_000);
    token.cancel("deadline");
    expect(await slept).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is false as soon as it is cancelled, and leaves no timer", async () => {
    const token = new CancelToken();
    const slept = sleep(1_000, token);
    token.cancel("client_gone");
    expect(await slept).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is false at once on a cancelled token", async () => {
    const token = new CancelToken();
    token.cancel("client_gone");
    expect(await sleep(1_000, token)).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("longer than a timer can wait does not end at once", async () => {
    let over = false;
    const token = new CancelToken();
    const slept = sleep(LONGEST_TIMER_MS * 2, token).then((result) => {
      over = true;
      return result;
    });
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(over).toBe(false);
    token.cancel("shutdown");
    expect(await slept).toBe(false);
  });
});
