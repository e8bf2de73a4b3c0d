import { type EncodedRecord, encodeRecord, type LogDraft, newHead, readRecord } from "@unigate/events";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRecordList, type RecordList } from "./record-list.ts";
import { bytesOf, type StoredRecord } from "./stored-record.ts";

function encoded(id: string, time: number, body = 0): EncodedRecord {
  const message = body === 0 ? null : { headers: null, body: Buffer.alloc(body, "x"), json: false, truncated: false };
  const draft: LogDraft = { head: newHead(id, time), request: message, response: null };
  const read = readRecord(encodeRecord(draft));
  if (!read.ok) throw new Error(read.detail);
  return read.record;
}

const ids = (store: RecordList, after: Parameters<RecordList["newest"]>[0] = null) => [...store.newest(after)].map(({ id }) => id);
const textOf = (record: StoredRecord | undefined): string => (record === undefined ? "null" : bytesOf(record).toString("utf8"));
const bodyOf = (store: RecordList, id: string) =>
  (JSON.parse(textOf(store.get(id))) as { request: { body: unknown } | null }).request?.body;

describe("record list", () => {
  test("keeps the order of time however records come, ignores what it has, and keeps the newest", () => {
    const record = fc.record({ id: fc.integer({ min: 0, max: 60 }).map(String), time: fc.integer({ min: 0, max: 20 }) });
    fc.assert(
      fc.property(fc.array(record, { maxLength: 120 }), fc.integer({ min: 1, max: 50 }), fc.boolean(), (given, limit, bodies) => {
        const store = createRecordList({ records: limit });
        let model: { id: string; time: number }[] = [];
        for (const { id, time } of given) {
          const known = model.some((item) => item.id === id);
          expect(store.add(encoded(id, time, bodies ? 300 : 0))).toBe(!known);
          if (!known) model.push({ id, time });
          model = model.sort((a, b) => b.time - a.time || (a.id < b.id ? 1 : -1)).slice(0, limit);
        }
        expect(ids(store)).toEqual(model.map(({ id }) => id));
        for (const [index, item] of model.entries()) expect(ids(store, item)).toEqual(model.slice(index + 1).map(({ id }) => id));
        expect(store.stats().records).toBe(model.length);
      }),
      { numRuns: 100 },
    );
  });

  test("is never heavier than its budget, and knows its weight", () => {
    const record = fc.record({ time: fc.nat(50), body: fc.nat(3_000) });
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 60 }), fc.integer({ min: 1_000, max: 60_000 }), (given, budget) => {
        const store = createRecordList({ bytes: budget });
        given.forEach(({ time, body }, index) => store.add(encoded(String(index), time, body)));
        const weight = [...store.newest(null)].reduce((sum, record) => sum + bytesOf(record).length + 500, 0);
        expect(store.stats().bytes).toBe(weight);
        expect(weight).toBeLessThanOrEqual(budget);
        expect(store.stats().records + store.stats().recordsDropped).toBe(given.length);
      }),
      { numRuns: 100 },
    );
  });

  test("bodies go first, the oldest first, then records", () => {
    const store = createRecordList({ bytes: 30_000 });
    for (let index = 0; index < 5; index++) store.add(encoded(String(index), index, 5_000));
    expect(store.stats()).toMatchObject({ bodiesDropped: 1, recordsDropped: 0 });
    expect(bodyOf(store, "0")).toBeNull();
    expect(bodyOf(store, "1")).toHaveLength(5_000);
    for (let index = 5; index < 40; index++) store.add(encoded(String(index), index, 5_000));
    expect(store.stats().recordsDropped).toBeGreaterThan(0);
    expect(store.get("0")).toBeUndefined();
    for (const id of ids(store)) expect(bodyOf(store, id)).toBeNull();
  });

  test("a late record with bodies, older than records without, loses them when its turn comes", () => {
    const store = createRecordList({ bytes: 20_000 });
    for (let index = 10; index < 16; index++) store.add(encoded(String(index), index, 5_000));
    store.add(encoded("late", 1, 5_000));
    expect(bodyOf(store, "late")).toBeNull();
    expect(bodyOf(store, "15")).toHaveLength(5_000);
  });

  test("a record too heavy for the whole store is not kept and harms nothing", () => {
    const store = createRecordList({ bytes: 1_000 });
    expect(store.add(encoded("a", 1, 50_000))).toBe(true);
    expect(store.stats()).toMatchObject({ records: 0, bytes: 0, recordsDropped: 1 });
  });
});
