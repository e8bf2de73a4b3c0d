import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { SqlLane } from "../engine.ts";
import { SqlUnavailable } from "../fault.ts";
import { createLanes } from "./lanes.ts";

test("one at a time, control before logs, each lane in its order, whatever comes when", async () => {
  const step = fc.oneof(fc.constantFrom<SqlLane>("control", "logs"), fc.constant("end" as const));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const lanes = createLanes({ waiting: 100, patienceMs: 10_000 });
      const started: number[] = [];
      const ends: (() => void)[] = [];
      const waiting: Record<SqlLane, number[]> = { control: [], logs: [] };
      let [running, expected]: [number, number[]] = [0, []];
      const finish = async () => {
        ends.shift()?.();
        const next = waiting.control.shift() ?? waiting.logs.shift();
        running = next === undefined ? 0 : 1;
        if (next !== undefined) expected.push(next);
        await new Promise(setImmediate);
      };
      for (const [index, lane] of steps.entries()) {
        if (lane === "end") {
          if (running === 1) await finish();
          continue;
        }
        if (running === 0) {
          running = 1;
          expected.push(index);
        } else waiting[lane].push(index);
        void lanes.turn(lane).then((end) => {
          started.push(index);
          ends.push(end);
        });
        await new Promise(setImmediate);
        expect(lanes.size).toBe(running + waiting.control.length + waiting.logs.length);
      }
      while (running === 1) await finish();
      expect(started).toEqual(expected);
      expect(lanes.size).toBe(0);
    }),
    { numRuns: 60 },
  );
});

test("too many, or too long, is an error and not a wait", async () => {
  const lanes = createLanes({ waiting: 1, patienceMs: 20 });
  const end = await lanes.turn("logs");
  const impatient = lanes.turn("logs");
  await expect(lanes.turn("logs")).rejects.toThrow(SqlUnavailable);
  await expect(impatient).rejects.toThrow("was busy for 20 ms");
  end();
  end();
  (await lanes.turn("control"))();
  expect(lanes.size).toBe(0);
});
