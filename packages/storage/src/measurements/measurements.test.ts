import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { manualClock } from "../counters/counters.fixture.ts";
import { storeEngines } from "../store-engines.fixture.ts";
import { createMemoryMeasurements } from "./memory.ts";
import { type MeasurementExchange, type Measurements, REPORTER_MS } from "./port.ts";
import { createRedisMeasurements } from "./redis.ts";

const engines = storeEngines<Measurements>({
  inMemory: (clock) => createMemoryMeasurements({ clock }),
  inRedis(link, clock, rename) {
    const measurements = createRedisMeasurements(link, { clock });
    return { exchange: (call) => measurements.exchange(rename(call)) };
  },
});
const NOTHING = { latencyMs: null, ageMs: 0, inFlight: 0 };

describe.each(engines)("measurements in $name", (engine) => {
  describe.skipIf(!engine.available)("the port", () => {
    beforeAll(() => engine.open());
    afterAll(() => engine.close());

    function setUp() {
      const clock = manualClock();
      const store = engine.create(clock);
      const exchange = (over: Partial<MeasurementExchange>) =>
        store.exchange({ organisationId: "org-a", latencies: [], inFlight: [], asked: ["t"], ...over });
      const busy = async (reporter: string, count: number, at: number): Promise<number | undefined> =>
        (await exchange({ inFlight: [{ target: "t", reporter, count, at }] }))[0]?.inFlight;
      return { clock, exchange, busy };
    }

    test("nothing is known of what nobody has told of, in the order asked", async () => {
      const { exchange } = setUp();
      const told = await exchange({ latencies: [{ target: "t", count: 1, meanMs: 20 }], asked: ["none", "t", "__proto__"] });
      expect(told).toEqual([NOTHING, { latencyMs: 20, ageMs: 0, inFlight: 0 }, NOTHING]);
      expect(await exchange({ organisationId: "org-b" })).toEqual([NOTHING]);
    });

    test("the latest answers count most, one by one or together", async () => {
      const { exchange, clock } = setUp();
      const answer = (target: string, count: number, meanMs: number) =>
        exchange({ latencies: [{ target, count, meanMs }], asked: [target] });
      await answer("one", 1, 100);
      for (let index = 0; index < 3; index += 1) await answer("one", 1, 200);
      await answer("together", 1, 100);
      await answer("together", 3, 200);
      clock.advance(1_234);
      const [one, together] = await exchange({ asked: ["one", "together"] });
      expect(one?.latencyMs).toBeCloseTo(148.8, 1);
      expect(together?.latencyMs).toBeCloseTo(148.8, 1);
      expect(one?.ageMs).toBe(1_234);
    });

    test("what is under way is the sum over processes, whichever number came last from each", async () => {
      const { busy } = setUp();
      expect(await busy("a", 5, 10)).toBe(5);
      expect(await busy("b", 2, 3)).toBe(7);
      expect(await busy("a", 4, 11)).toBe(6);
      // On its way for longer than the one before.
      expect(await busy("a", 9, 10)).toBe(6);
      expect(await busy("a", 0, 12)).toBe(2);
    });

    test("a process that died has nothing under way", async () => {
      const { busy, clock, exchange } = setUp();
      await busy("dead", 50, 1);
      clock.advance(REPORTER_MS - 1);
      expect(await busy("alive", 1, 1)).toBe(51);
      clock.advance(1);
      expect((await exchange({}))[0]?.inFlight).toBe(1);
      // A clock that was set back does not shut it out for ever.
      expect(await busy("dead", 3, 0)).toBe(4);
    });
  });
});
