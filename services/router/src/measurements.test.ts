import { createMemoryMeasurements, StoreLostError } from "@unigate/storage";
import { expect, test } from "vitest";
import { breakingConfig, manualClock, plainTargets, startRouter } from "./router.fixture.ts";

const FASTEST = breakingConfig({ mode: "loadbalance", select: "least_latency", cb_config: undefined }, plainTargets(3));
const FREEST = breakingConfig({ mode: "loadbalance", select: "least_busy", cb_config: undefined }, plainTargets(2));
const path = (index: number): string => `config.targets[${index}]`;
const TENANT = { organisationId: "org-a", workspaceId: "ws" };

function twoRouters() {
  const clock = manualClock();
  const store = createMemoryMeasurements({ clock });
  let isLost = false;
  const measurements: typeof store = {
    exchange: (call) => (isLost ? Promise.reject(new StoreLostError("failed", "gone")) : store.exchange(call)),
  };
  const one = startRouter({ clock, measurements });
  const other = startRouter({ clock, measurements });
  return {
    clock,
    one,
    other,
    lose: (lost: boolean) => (isLost = lost),
    async tick(): Promise<void> {
      await one.tick();
      await other.tick();
    },
  };
}

test("least_latency tries each target once, then keeps to the fastest, and tries the others again", async () => {
  const { clock, one, other, tick } = twoRouters();
  const tried: string[] = [];
  for (let index = 0; index < 3; index++) {
    const [place = ""] = (await one.plan(FASTEST)).order;
    tried.push(place);
    await one.report(FASTEST, { optionPath: `config.${place}`, status: 200, firstByteMs: 300 - 100 * index });
  }
  expect(tried).toEqual(["targets[0]", "targets[1]", "targets[2]"]);
  // The other replica has tried nothing itself.
  await other.plan(FASTEST);
  await tick();
  await tick();
  for (const router of [one, other, one]) expect((await router.plan(FASTEST)).order).toEqual(["targets[2]"]);
  const later: string[] = [];
  for (let second = 0; second < 33; second++) {
    clock.advance(1_000);
    later.push(...(await one.plan(FASTEST)).order);
    await one.report(FASTEST, { optionPath: path(2), status: 200, firstByteMs: 100 });
    await tick();
  }
  // After half a minute nothing is known of the two others any more, so each is tried.
  for (const place of ["targets[0]", "targets[1]"]) expect(later.filter((one) => one === place).length, place).toBe(1);
  expect(later.slice(0, 29)).toEqual(Array.from({ length: 29 }, () => "targets[2]"));
});

test("a target that fails is slow", async () => {
  const { one } = twoRouters();
  await one.plan(FASTEST);
  for (const [index, status] of [500, 401, 200].entries())
    await one.report(FASTEST, { optionPath: path(index), status, firstByteMs: index === 2 ? 5_000 : 1 });
  expect((await one.plan(FASTEST)).order).toEqual(["targets[2]"]);
});

test("least_busy looks at all processes, and at what it has just planned itself", async () => {
  const { clock, one, other, tick } = twoRouters();
  for (const router of [one, other]) await router.plan(FREEST);
  clock.advance(1_000);
  const busy = (router: typeof one, reporter: string, index: number, count: number) =>
    router.underWay(FREEST, reporter, { tenant: TENANT, optionPath: path(index), count, at: clock.now() });
  await busy(one, "edge-1", 0, 2);
  await busy(other, "edge-2", 0, 3);
  await busy(one, "edge-1", 1, 3);
  await tick();
  await tick();
  // 5 at the first, 3 at the second and what is planned on top.
  const order: string[] = [];
  for (let index = 0; index < 4; index++) order.push(...(await one.plan(FREEST)).order);
  expect(order).toEqual(["targets[1]", "targets[1]", "targets[0]", "targets[1]"]);
  // Dead processes have nothing under way.
  clock.advance(15_000);
  await busy(one, "edge-3", 1, 1);
  for (let index = 0; index < 2; index++) {
    await one.plan(FREEST);
    clock.advance(1_000);
    await tick();
  }
  expect((await one.plan(FREEST)).order).toEqual(["targets[0]"]);
});

test("without the store each replica goes on with what it has measured", async () => {
  const { one, lose, tick } = twoRouters();
  lose(true);
  await one.plan(FASTEST);
  for (const index of [0, 1, 2]) await one.report(FASTEST, { optionPath: path(index), status: 200, firstByteMs: 300 - 100 * index });
  await tick();
  expect((await one.plan(FASTEST)).order).toEqual(["targets[2]"]);
});

test("what nobody knows is counted and measures nothing", async () => {
  const { one } = twoRouters();
  await one.plan(FREEST);
  await one.underWay(FREEST, "x".repeat(1_000), { optionPath: path(0), count: 1 });
  await one.underWay(FREEST, "edge", { optionPath: "__proto__", count: 1 });
  await one.underWay(FREEST, "edge", { configHash: Buffer.alloc(0), optionPath: path(0), count: 1 });
  expect(one.statistics().unknown).toBe(3);
});
