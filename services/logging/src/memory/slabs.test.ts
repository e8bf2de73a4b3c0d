import * as fc from "fast-check";
import { expect, test } from "vitest";
import { bytesAt, createSlabs, type Place } from "./slabs.ts";

const MIB = 1024 * 1024;

test("what is kept stays as it was, however others come and go", () => {
  const step = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        size: fc.oneof(fc.nat(5_000), fc.integer({ min: 100_000, max: 300_000 })),
        parts: fc.integer({ min: 1, max: 3 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ release: fc.nat(1_000) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const slabs = createSlabs();
      const kept: { place: Place; byte: number; size: number }[] = [];
      steps.forEach((one, index) => {
        const byte = index % 251;
        if ("release" in one) {
          const [gone] = kept.splice(kept.length === 0 ? 0 : one.release % kept.length, 1);
          if (gone !== undefined) slabs.release(gone.place);
        } else {
          const pieces = Array.from({ length: one.parts }, () => Buffer.alloc(one.size, byte));
          kept.push({ place: slabs.keep(...pieces), byte, size: one.size * one.parts });
        }
      });
      for (const { place, byte, size } of kept) expect(bytesAt(place).equals(Buffer.alloc(size, byte))).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test("records that come and go in one order use the same memory again", () => {
  const slabs = createSlabs();
  const used = new Set<object>();
  const kept: Place[] = [];
  for (let index = 0; index < 40_000; index++) {
    const place = slabs.keep(Buffer.alloc(3_000));
    used.add(place.slab);
    kept.push(place);
    if (kept.length > 1_000) slabs.release(kept.shift() ?? place);
  }
  expect(used.size).toBeLessThanOrEqual(Math.ceil((1_000 * 3_000) / MIB) + 2);
});

test("a long record has memory of its own", () => {
  const slabs = createSlabs();
  const [short, long] = [slabs.keep(Buffer.alloc(10)), slabs.keep(Buffer.alloc(MIB / 4))];
  expect(long.slab).not.toBe(short.slab);
  expect(long.slab.memory).toHaveLength(MIB / 4);
  expect(slabs.keep(Buffer.alloc(10)).slab).toBe(short.slab);
});
