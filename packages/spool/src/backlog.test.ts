import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createBacklog } from "./backlog.ts";
import type { Segment } from "./segment.ts";
import { memorySpan, type Span } from "./span.ts";

const RECORD_BYTES = 10;

function segment(number: number): Segment {
  return { number, path: String(number), createdAt: number, bytes: 0, kept: true, spans: 0 };
}

/** A span of records that carry their number. */
function span(first: number, count: number): Span {
  const records = Array.from({ length: count }, (_, index) => Buffer.from(String(first + index).padStart(RECORD_BYTES)));
  return memorySpan(records, count * RECORD_BYTES, first);
}

const commands = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant("push" as const), count: fc.integer({ min: 1, max: 4 }) }) },
    { weight: 6, arbitrary: fc.constant({ do: "write" as const }) },
    { weight: 1, arbitrary: fc.constant({ do: "rotate" as const }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("deliver" as const), unwritten: fc.boolean(), isAcknowledged: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constant({ do: "drop-segment" as const }) },
  ),
  { maxLength: 80 },
);

describe("backlog", () => {
  test("whatever comes in whatever order, the books are right and each segment is freed once, when nothing in it is needed", () => {
    fc.assert(
      fc.property(commands, fc.integer({ min: 0, max: 100 }), (steps, tailLimit) => {
        const freed: Segment[] = [];
        const backlog = createBacklog(tailLimit, (one) => freed.push(one));
        const made: Segment[] = [];
        const unwritten: Span[] = [];
        /** Numbers of the records on disk, by segment and offset (one byte a record). */
        const disk = new Map<Segment, number[]>();
        const gone = new Set<number>();
        let [pushed, lost] = [0, 0];
        const rotate = () => {
          const last = made.at(-1);
          if (last !== undefined) backlog.finishSegment(last);
          const next = segment(made.length + 1);
          made.push(next);
          disk.set(next, []);
          backlog.addSegment(next);
          return next;
        };
        for (const step of steps) {
          if (step.do === "push") {
            const one = span(pushed, step.count);
            pushed += step.count;
            unwritten.push(one);
            backlog.push(one);
          } else if (step.do === "rotate") rotate();
          else if (step.do === "write") {
            const one = unwritten.shift();
            if (one === undefined || one.gone) continue;
            const into = made.at(-1) ?? rotate();
            const offsets = disk.get(into) ?? [];
            const start = offsets.length;
            for (const record of one.records ?? []) offsets.push(Number(record.toString()));
            into.bytes = offsets.length;
            backlog.placed(one, into, start, offsets.length);
          } else if (step.do === "drop-segment") {
            const before = made.filter((one) => !freed.includes(one) && !one.kept);
            const dropped = backlog.dropSegment();
            expect(dropped === null).toBe(before.length === 0);
            lost += dropped ?? 0;
          } else {
            const taken = backlog.take(5, 60, step.unwritten);
            const numbers = taken.flatMap((one) =>
              one.records === null && one.segment !== null
                ? (disk.get(one.segment)?.slice(one.start, one.end) ?? [])
                : (one.records ?? []).map((record) => Number(record.toString())),
            );
            expect(numbers.length).toBe(taken.reduce((sum, one) => sum + one.count, 0));
            expect(numbers).toEqual(numbers.toSorted((left, right) => left - right));
            if (!step.isAcknowledged) backlog.release(taken);
            else {
              for (const number of numbers) {
                expect(gone.has(number)).toBe(false);
                gone.add(number);
              }
              backlog.remove(taken);
            }
          }
          expect(backlog.records).toBe(pushed - gone.size - lost);
          expect(backlog.tailBytes).toBeLessThanOrEqual(tailLimit);
          expect(backlog.unwrittenBytes).toBe(unwritten.reduce((sum, one) => sum + (one.gone ? 0 : one.bytes), 0));
          expect(backlog.unwrittenRecords * RECORD_BYTES).toBe(backlog.unwrittenBytes);
          expect(backlog.segments).toEqual(made.filter((one) => !freed.includes(one)));
          expect(new Set(freed).size).toBe(freed.length);
          expect(freed.every((one) => !one.kept && one.spans === 0)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });
});
