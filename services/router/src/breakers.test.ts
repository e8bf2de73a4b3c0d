import { randomUUID } from "node:crypto";
import { backgroundCall, Secret } from "@unigate/core";
import { createMemoryBreakers, createRedisBreakers, openRedis, PROBE_MS, readRedisAddress, StoreLostError } from "@unigate/storage";
import { requirement } from "@unigate/testkit";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { breakingConfig, COOLDOWN, manualClock, outcomeOf, plainTargets, planRequest, startRouter } from "./router.fixture.ts";

const CONFIG = breakingConfig();
const FAILED = { status: 500 };

/** The first target of CONFIG failed often enough. */
async function setUpOpen(config = CONFIG) {
  const clock = manualClock();
  const router = startRouter({ clock });
  await router.plan(config);
  await router.report(config, FAILED, FAILED);
  return { clock, router };
}

describe("one router", () => {
  test("a target is left out from the outcome that opens its breaker on", async () => {
    const clock = manualClock();
    const router = startRouter({ clock });
    expect(await router.plan(CONFIG)).toEqual({ order: ["targets[0]", "targets[1]"], token: "", breakers: [] });
    await router.report(CONFIG, FAILED);
    expect((await router.plan(CONFIG)).order).toEqual(["targets[0]", "targets[1]"]);
    await router.report(CONFIG, FAILED);
    const open = { order: ["targets[1]"], token: "", breakers: [{ at: "config", mode: "breaker", open: [0], bypassed: false }] };
    expect(await router.plan(CONFIG)).toEqual(open);
    await router.tick();
    expect(await router.plan(CONFIG)).toEqual(open);
    expect(router.statistics()).toMatchObject({ open: 1, changes: { open: 1, closed: 0 } });
  });

  test("after the cooldown exactly one plan has the probe, and its success closes", async () => {
    const { clock, router } = await setUpOpen();
    await router.tick();
    clock.advance(COOLDOWN);
    expect((await router.plan(CONFIG)).order).toEqual(["targets[1]"]);
    await router.tick();
    const probing = await router.plan(CONFIG);
    expect(probing.order).toEqual(["targets[0]?", "targets[1]"]);
    await router.tick();
    expect((await router.plan(CONFIG)).order).toEqual(["targets[1]"]);
    await router.report(CONFIG, { status: 200, probeToken: probing.token });
    expect((await router.plan(CONFIG)).order).toEqual(["targets[0]", "targets[1]"]);
    await router.tick();
    expect(await router.plan(CONFIG)).toEqual({ order: ["targets[0]", "targets[1]"], token: "", breakers: [] });
    expect(router.statistics()).toMatchObject({ open: 0, changes: { open: 1, closed: 1 } });
  });

  test("its failure opens it again", async () => {
    const { clock, router } = await setUpOpen();
    await router.tick();
    clock.advance(COOLDOWN);
    await router.plan(CONFIG);
    await router.tick();
    await router.report(CONFIG, { status: 503, probeToken: (await router.plan(CONFIG)).token });
    await router.tick();
    clock.advance(COOLDOWN - 1);
    await router.plan(CONFIG);
    await router.tick();
    expect((await router.plan(CONFIG)).order).toEqual(["targets[1]"]);
    expect(router.statistics().changes).toEqual({ open: 2, closed: 0 });
  });

  test.each(["given back", "never told of"])("a probe that was %s is made by a later plan", async (how) => {
    const { clock, router } = await setUpOpen();
    await router.tick();
    clock.advance(COOLDOWN);
    await router.plan(CONFIG);
    await router.tick();
    const { token } = await router.plan(CONFIG);
    await router.tick();
    if (how === "given back") await router.report(CONFIG, { status: 0, probeToken: token });
    else clock.advance(PROBE_MS);
    await router.plan(CONFIG);
    await router.tick();
    const again = await router.plan(CONFIG);
    expect(again.order).toEqual(["targets[0]?", "targets[1]"]);
    expect(again.token).not.toBe(token);
  });

  test("what was on its way when the breaker opened neither closes nor prolongs it", async () => {
    const { clock, router } = await setUpOpen();
    await router.tick();
    clock.advance(COOLDOWN / 2);
    await router.report(CONFIG, { status: 200 }, FAILED, { status: 200, probeToken: "prb-invented" });
    await router.tick();
    expect((await router.plan(CONFIG)).order).toEqual(["targets[1]"]);
    clock.advance(COOLDOWN / 2);
    await router.plan(CONFIG);
    await router.tick();
    expect((await router.plan(CONFIG)).order).toEqual(["targets[0]?", "targets[1]"]);
  });

  test("all open: all are used and the decision says so; a probe is a probe all the same", async () => {
    const { clock, router } = await setUpOpen();
    await router.report(CONFIG, ...[FAILED, FAILED].map((one) => ({ ...one, optionPath: "config.targets[1]" })));
    const bypassed = [{ at: "config", mode: "breaker", open: [0, 1], bypassed: true }];
    expect(await router.plan(CONFIG)).toEqual({ order: ["targets[0]", "targets[1]"], token: "", breakers: bypassed });
    await router.tick();
    clock.advance(COOLDOWN);
    await router.plan(CONFIG);
    await router.tick();
    const { order, breakers } = await router.plan(CONFIG);
    expect([order, breakers]).toEqual([["targets[0]?", "targets[1]?"], bypassed]);
  });

  test("load balancing gives its share to the others, and a weight of 0 is no way out", async () => {
    const targets = [
      { provider: "mock", weight: 5 },
      { provider: "mock", weight: 1 },
      { provider: "mock", weight: 0 },
    ];
    const config = breakingConfig({ mode: "loadbalance" }, targets);
    const { router } = await setUpOpen(config);
    expect((await router.plan(config)).order).toEqual(["targets[1]"]);
    await router.report(config, { ...FAILED, optionPath: "config.targets[1]" }, { ...FAILED, optionPath: "config.targets[1]" });
    expect(await router.plan(config)).toMatchObject({ order: ["targets[0]"], breakers: [{ open: [0, 1], bypassed: true }] });
  });

  test("a strategy is open when all its targets are, and paths stay those of the config", async () => {
    const inner = { strategy: { mode: "fallback" }, targets: plainTargets(2) };
    const config = breakingConfig({}, [inner, { provider: "mock" }]);
    const clock = manualClock();
    const router = startRouter({ clock });
    await router.plan(config);
    const fail = (path: string) => router.report(config, { ...FAILED, optionPath: path }, { ...FAILED, optionPath: path });
    await fail("config.targets[0].targets[0]");
    expect(await router.plan(config)).toMatchObject({
      order: ["targets[0].targets[1]", "targets[1]"],
      breakers: [{ at: "config.targets[0]", open: [0], bypassed: false }],
    });
    await fail("config.targets[0].targets[1]");
    expect(await router.plan(config)).toMatchObject({ order: ["targets[1]"], breakers: [{ at: "config", open: [0] }] });
  });

  test("another content under the same id begins anew, and so does another organisation", async () => {
    const { router } = await setUpOpen();
    expect((await router.plan(breakingConfig({}, plainTargets(3)))).order.length).toBe(3);
    expect((await router.plan(CONFIG, "org-b")).order.length).toBe(2);
    expect((await router.breakers(CONFIG, "org-b")).breakers).toEqual([]);
  });

  test("explaining takes no probe", async () => {
    const { clock, router } = await setUpOpen();
    await router.tick();
    clock.advance(COOLDOWN);
    await router.plan(CONFIG);
    await router.tick();
    const explained = await router.port.plan({ ...planRequest(CONFIG, "org-a"), explain: true }, backgroundCall(0));
    expect(JSON.stringify(explained.outcome)).toContain('"probeToken":""');
    expect(JSON.stringify(explained.outcome)).not.toContain("prb");
    expect((await router.plan(CONFIG)).order).toEqual(["targets[0]?", "targets[1]"]);
  });

  test("tells its breakers", async () => {
    const { clock, router } = await setUpOpen();
    await router.report(CONFIG, { ...FAILED, optionPath: "config.targets[1]" }, { status: 200, optionPath: "config.targets[1]" });
    expect((await router.breakers(CONFIG)).breakers).toEqual([
      { optionPath: "config.targets[0]", state: "open", failures: 2, successes: 0, openUntil: clock.now() + COOLDOWN },
      { optionPath: "config.targets[1]", state: "closed", failures: 1, successes: 1, openUntil: 0 },
    ]);
    clock.advance(COOLDOWN);
    expect((await router.breakers(CONFIG)).breakers).toMatchObject([{ state: "half_open" }]);
  });
});

describe("bad weather", () => {
  /** A store that can be lost, and is shared by two routers. */
  function twoRouters() {
    const clock = manualClock();
    const store = createMemoryBreakers({ clock });
    let isLost = false;
    const breakers: typeof store = {
      exchange: (call) => (isLost ? Promise.reject(new StoreLostError("failed", "gone")) : store.exchange(call)),
    };
    const routers = [startRouter({ clock, breakers }), startRouter({ clock, breakers })] as const;
    return { clock, routers, lose: (lost: boolean) => (isLost = lost) };
  }

  test("without the store each router goes on with what it knows, probes alone, and comes back", async () => {
    const { clock, routers, lose } = twoRouters();
    const [one, other] = routers;
    for (const router of routers) await router.plan(CONFIG);
    await one.report(CONFIG, FAILED, FAILED);
    await one.tick();
    await other.tick();
    expect((await other.plan(CONFIG)).order).toEqual(["targets[1]"]);
    lose(true);
    clock.advance(COOLDOWN);
    expect((await one.plan(CONFIG)).order).toEqual(["targets[1]"]);
    await one.tick();
    const { order, token } = await one.plan(CONFIG);
    expect(order).toEqual(["targets[0]?", "targets[1]"]);
    await one.report(CONFIG, { status: 200, probeToken: token });
    await one.tick();
    expect((await one.plan(CONFIG)).order).toEqual(["targets[0]", "targets[1]"]);
    expect(one.statistics().lost).toBe(2);
    lose(false);
    await other.plan(CONFIG);
    await other.tick();
    expect((await other.plan(CONFIG)).order).toEqual(["targets[0]?", "targets[1]"]);
    await one.report(CONFIG, FAILED, FAILED);
    await one.tick();
    expect((await one.plan(CONFIG)).order).toEqual(["targets[1]"]);
  });

  test("what nobody knows is counted and changes nothing", async () => {
    const { router } = await setUpOpen();
    const hostile = ["", "config", "config.targets[2]", "__proto__", "config.targets[0].constructor", "x".repeat(100_000)];
    await router.report(CONFIG, ...hostile.map((optionPath) => ({ optionPath })));
    await router.report(CONFIG, { configHash: Buffer.alloc(0) }, { configHash: Buffer.alloc(32, 7) }, { tenant: undefined });
    expect(router.statistics()).toMatchObject({ unknown: hostile.length + 3, open: 1 });
    expect((await router.plan(CONFIG)).order).toEqual(["targets[1]"]);
  });

  test("any id of a config is an id", async () => {
    const clock = manualClock();
    const router = startRouter({ clock });
    for (const configId of ["", "__proto__", "a/b@c", "é".repeat(10_000)]) {
      await router.port.plan({ ...planRequest(CONFIG, "org-a"), configId }, backgroundCall(0));
      await router.report(CONFIG, { configId }, { configId });
    }
    expect(router.statistics()).toMatchObject({ unknown: 0, open: 4 });
  });

  test("a flood of one report is cut, and of many targets bounded", async () => {
    const clock = manualClock();
    const router = startRouter({ clock });
    const config = breakingConfig({}, plainTargets(50));
    await router.plan(config);
    await router.report(config, ...Array.from({ length: 1_500 }, () => ({})));
    expect(router.statistics()).toMatchObject({ unknown: 500, open: 1 });
    for (let version = 0; version < 50; version++) {
      const outcomes = Array.from({ length: 50 }, (_, index) => ({ configId: `pc-${version}`, optionPath: `config.targets[${index}]` }));
      await router.report(config, ...outcomes);
    }
    expect(router.statistics().dropped).toBe(50 * 50 + 1 - 2_000);
    await router.tick();
  });
});

const redis = requirement("redis");

describe.skipIf(!redis.available)("two routers over Redis", () => {
  test("share a breaker, and one probe", async () => {
    const address = readRedisAddress(new Secret(redis.at));
    const links = await Promise.all(["one", "other"].map((name) => openRedis({ address, name, deadlineMs: 10_000 })));
    const clock = manualClock();
    const prefix = `${randomUUID()}-`;
    const [one, other] = links.map((link) => {
      const store = createRedisBreakers(link, { clock });
      const breakers: typeof store = { exchange: (call) => store.exchange({ ...call, organisationId: prefix + call.organisationId }) };
      return startRouter({ clock, breakers });
    });
    if (one === undefined || other === undefined) throw new Error("two links");
    for (const router of [one, other]) await router.plan(CONFIG);
    // Neither of the two has seen enough alone.
    await one.report(CONFIG, FAILED);
    await other.report(CONFIG, FAILED);
    for (const router of [one, other, one]) await router.tick();
    for (const router of [one, other]) expect((await router.plan(CONFIG)).order).toEqual(["targets[1]"]);
    clock.advance(COOLDOWN);
    for (const router of [one, other]) await router.plan(CONFIG);
    await Promise.all([one.tick(), other.tick()]);
    const plans = [await one.plan(CONFIG), await other.plan(CONFIG), await one.plan(CONFIG), await other.plan(CONFIG)];
    const probes = plans.filter(({ token }) => token !== "");
    expect(probes.length).toBe(1);
    // Its outcome comes to whichever of the two the edge happens to tell.
    await other.report(CONFIG, { status: 200, probeToken: probes[0]?.token ?? "" });
    for (const router of [other, one]) await router.tick();
    for (const router of [one, other]) expect((await router.plan(CONFIG)).order).toEqual(["targets[0]", "targets[1]"]);
    for (const link of links) link.close();
  });
});

const step = fc.record({
  router: fc.integer({ min: 0, max: 2 }),
  does: fc.constantFrom("plan", "plan", "report", "tick", "tick"),
  status: fc.constantFrom(200, 500, 503, 429, 0),
  wait: fc.constantFrom(0, 250, 1_000, COOLDOWN),
});

test("property: over three routers two probes are never under way at once, and only a probe's success closes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), async (steps) => {
      const clock = manualClock();
      const breakers = createMemoryBreakers({ clock });
      const routers = [0, 1, 2].map(() => startRouter({ clock, breakers }));
      const [first] = routers;
      for (const router of routers) await router.plan(CONFIG);
      await first?.report(CONFIG, FAILED, FAILED);
      for (const router of routers) await router.tick();
      let probe: { token: string; at: number } | null = null;
      let closed = false;
      for (const { router: number, does, status, wait } of steps) {
        clock.advance(wait);
        const router = routers[number];
        // A replica that is alive ticks at least every second; one that stands still for longer plans nothing either.
        if (wait >= 1_000) for (const each of routers) await each.tick();
        if (router === undefined) continue;
        if (does === "tick") await router.tick();
        else if (does === "plan") {
          const { token, order } = await router.plan(CONFIG);
          if (token !== "") {
            if (probe !== null) expect(clock.now() - probe.at).toBeGreaterThanOrEqual(PROBE_MS);
            probe = { token, at: clock.now() };
            await router.tick();
          } else if (!closed) expect(order).toEqual(["targets[1]"]);
        } else if (probe !== null && !closed) {
          const inTime = clock.now() - probe.at < PROBE_MS;
          await router.report(CONFIG, { status, probeToken: probe.token });
          await router.tick();
          if (status === 200 && inTime) closed = true;
          if (inTime) probe = null;
        }
        if (closed) {
          // Who was not asked for a while learns it with the tick after the first plan.
          for (const each of routers) await each.plan(CONFIG);
          for (const each of routers) await each.tick();
          for (const each of routers) expect((await each.plan(CONFIG)).order).toEqual(["targets[0]", "targets[1]"]);
          return;
        }
      }
    }),
    { numRuns: 30 },
  );
});

test("the fixture's outcome is one of the config", () => {
  expect(outcomeOf(CONFIG).configHash).toEqual(planRequest(CONFIG, "org-a").configHash);
});
