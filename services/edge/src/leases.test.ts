import type { RenewRequest } from "@unigate/contracts";
import type { Logger } from "@unigate/runtime";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLeases } from "./leases.ts";

const LONGEST_MS = 100_000;
const log = { warn() {} } as unknown as Logger;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Leases over a policy service that has lost these reservations, or that is away. */
function keeping(lost: readonly string[] = [], isAway = () => false) {
  const asked: RenewRequest[] = [];
  const policy = {
    async renew(request: RenewRequest) {
      asked.push(request);
      if (isAway()) throw new Error("policy is away");
      return { lost: request.reservationIds.filter((id) => lost.includes(id)) };
    },
  };
  return { asked, leases: createLeases(policy, log, { now: () => Date.now() }, LONGEST_MS) };
}
const batchesOf = (asked: readonly RenewRequest[]) =>
  asked.map(({ organisationId, reservationIds }) => [organisationId, ...reservationIds]);

test("what runs is renewed each 20 s, one call an organisation, and what has ended is not", async () => {
  const { asked, leases } = keeping();
  for (const [organisation, id] of [
    ["a", "1"],
    ["b", "2"],
    ["a", "3"],
    ["a", "3"],
    ["c", "4"],
  ] as const)
    leases.begin(organisation, id);
  leases.end("a", "1");
  leases.end("c", "4");
  leases.end("c", "nobody");
  expect(leases.held).toBe(2);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(batchesOf(asked)).toEqual([
    ["a", "3"],
    ["b", "2"],
  ]);
  expect(asked[0]?.leaseMs).toBe(60_000);
  leases.end("a", "3");
  leases.end("b", "2");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveLength(2);
  leases.stop();
});

test("one that policy has lost is counted and renewed no more", async () => {
  const { asked, leases } = keeping(["1"]);
  leases.begin("a", "1");
  leases.begin("a", "2");
  await vi.advanceTimersByTimeAsync(40_000);
  expect(batchesOf(asked)).toEqual([
    ["a", "1", "2"],
    ["a", "2"],
  ]);
  expect([leases.lost, leases.held]).toEqual([1, 1]);
  leases.stop();
});

test("a failed renewal is tried again, and what nobody ends is dropped when no request runs so long", async () => {
  let away = true;
  const { asked, leases } = keeping([], () => away);
  leases.begin("a", "1");
  await vi.advanceTimersByTimeAsync(20_000);
  away = false;
  await vi.advanceTimersByTimeAsync(LONGEST_MS - 20_000);
  expect([asked.length, leases.held, leases.lost]).toEqual([4, 0, 0]);
  leases.stop();
});

test("many go in several calls", async () => {
  const { asked, leases } = keeping();
  for (let id = 0; id < 12_000; id += 1) leases.begin("a", String(id));
  await leases.renew();
  expect(asked.map(({ reservationIds }) => reservationIds.length)).toEqual([5_000, 5_000, 2_000]);
  leases.stop();
});
