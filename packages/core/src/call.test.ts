import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { backgroundCall, boundCall } from "./call.ts";
import { CancelToken } from "./cancel.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

test("a background call has no deadline and its own token", () => {
  const call = backgroundCall();
  expect(call).toMatchObject({ traceId: "0".repeat(32), traceparent: "", deadline: Number.POSITIVE_INFINITY });
  expect(backgroundCall().cancel).not.toBe(call.cancel);
  expect(backgroundCall(5).deadline).toBe(5);
});

test("a bounded call keeps its parent's trace and is given up at its deadline", () => {
  const parent = { ...backgroundCall(), traceId: "a".repeat(32), traceparent: "tp" };
  const { call } = boundCall(parent, 500);
  expect(call).toMatchObject({ traceId: parent.traceId, traceparent: "tp", deadline: 1_000_500 });
  vi.advanceTimersByTime(499);
  expect(call.cancel.cancelled).toBe(false);
  vi.advanceTimersByTime(1);
  expect(call.cancel.reason).toBe("deadline");
  expect(parent.cancel.cancelled).toBe(false);
});

test("its deadline is never later than its parent's", () => {
  expect(boundCall(backgroundCall(1_000_100), 500).call.deadline).toBe(1_000_100);
  expect(boundCall(backgroundCall(2_000_000), 500).call.deadline).toBe(1_000_500);
});

test("it ends with its parent, and with a parent that has ended", () => {
  const parent = backgroundCall();
  const bounded = boundCall(parent, 500);
  parent.cancel.cancel("client_gone");
  expect(bounded.call.cancel.reason).toBe("client_gone");
  expect(boundCall(parent, 500).call.cancel.reason).toBe("client_gone");
});

test("done frees the timer and the link to the parent", () => {
  const parent = backgroundCall();
  const bounded = boundCall(parent, 500);
  bounded.done();
  bounded.done();
  expect(vi.getTimerCount()).toBe(0);
  parent.cancel.cancel("shutdown");
  vi.advanceTimersByTime(1_000);
  expect(bounded.call.cancel.cancelled).toBe(false);
});

test("thousands of calls leave nothing behind on a long-lived parent", () => {
  const cancel = new CancelToken();
  const parent = { ...backgroundCall(), cancel };
  const ended = Array.from({ length: 2_000 }, () => boundCall(parent, 500));
  for (const bounded of ended) bounded.done();
  cancel.cancel("shutdown");
  expect(ended.filter((bounded) => bounded.call.cancel.cancelled)).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([3e9, Number.POSITIVE_INFINITY])("%d ms is not at once", (ms) => {
  const { call, done } = boundCall(backgroundCall(), ms);
  vi.advanceTimersByTime(1_000_000);
  expect(call.cancel.cancelled).toBe(false);
  done();
});
