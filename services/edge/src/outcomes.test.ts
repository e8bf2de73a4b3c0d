import type { AttemptOutcome, ReportRequest } from "@unigate/contracts";
import { until } from "@unigate/testkit";
import { expect, test } from "vitest";
import { createOutcomes } from "./outcomes.ts";
import { createUnderWay } from "./under-way.ts";

const OUTCOME: AttemptOutcome = {
  tenant: { organisationId: "org-a", workspaceId: "ws-a" },
  configId: "pc-a",
  configHash: Buffer.alloc(32),
  optionPath: "config",
  status: 200,
  firstByteMs: 1,
  totalMs: 2,
  probeToken: "",
  at: 0,
};

/** A router that takes reports, refuses them, or never answers. */
function setUp() {
  let warnings = 0;
  const log = {
    warn() {
      warnings += 1;
    },
  };
  const batches: number[] = [];
  let answer: () => Promise<object> = async () => ({});
  const router = {
    report({ outcomes: sent }: ReportRequest) {
      batches.push(sent.length);
      return answer();
    },
  };
  const outcomes = createOutcomes(router, log, createUnderWay(Date.now));
  return {
    outcomes,
    batches,
    warnings: () => warnings,
    add(count: number): void {
      for (let index = 0; index < count; index++) outcomes.add(OUTCOME);
    },
    become: (next: typeof answer) => (answer = next),
  };
}

test("what comes within 100 ms is one batch, and a full one goes at once", async () => {
  const { add, batches } = setUp();
  add(3);
  expect(batches).toEqual([]);
  await until("the batch", () => batches.length === 1);
  add(256 + 5);
  expect(batches).toEqual([3, 256]);
  await until("the rest", () => batches.length === 3);
  expect(batches).toEqual([3, 256, 5]);
});

test("a flood is bounded, and what is too much is counted", async () => {
  const { add, batches, outcomes, become } = setUp();
  const answers: (() => void)[] = [];
  become(() => new Promise((resolve) => answers.push(() => resolve({}))));
  add(20_000);
  const sent = batches.length * 256;
  expect(batches.length).toBeLessThanOrEqual(4);
  expect(outcomes.dropped).toBe(20_000 - sent - 5_000);
  become(async () => ({}));
  for (const end of answers.splice(0)) end();
  await until("all to be sent", () => batches.reduce((sum, count) => sum + count) === sent + 5_000);
  expect(outcomes.dropped).toBe(20_000 - sent - 5_000);
});

test("a router that is not there is told of once, and nothing is kept for it", async () => {
  const { add, outcomes, warnings, become } = setUp();
  become(() => Promise.reject(new Error("gone")));
  for (let index = 1; index <= 3; index++) {
    add(2);
    await outcomes.flush();
    expect([outcomes.dropped, warnings()]).toEqual([2 * index, 1]);
  }
  become(async () => ({}));
  add(1);
  await outcomes.flush();
  become(() => Promise.reject(new Error("gone")));
  add(1);
  await outcomes.flush();
  expect([outcomes.dropped, warnings()]).toEqual([7, 2]);
});

test("flushing sends what waits, and leaves no timer behind", async () => {
  const { add, batches, outcomes } = setUp();
  add(700);
  await outcomes.flush();
  expect(batches).toEqual([256, 256, 188]);
  await outcomes.flush();
  expect(batches.length).toBe(3);
});
