import type { AppendAck, AppendBatch } from "@unigate/contracts";
import type { Call } from "@unigate/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type LogDraft, newHead } from "./draft.ts";
import { createSink, type LogSink, type SinkLimits } from "./sink.ts";

/** A logging service that does as the test says: "ack" at once, "hold" all answers, "fail" each call, "cut" after a batch. */
class Logging {
  mode: "ack" | "hold" | "fail" | "cut" = "ack";
  calls = 0;
  batches: AppendBatch[] = [];

  get ids(): string[] {
    return this.batches.flatMap((batch) => batch.records.map((record) => (JSON.parse(record.toString("utf8")) as { id: string }).id));
  }

  append = async function* (this: Logging, batches: AsyncIterable<AppendBatch>, call: Call): AsyncGenerator<AppendAck> {
    this.calls += 1;
    if (this.mode === "fail") throw new Error("down");
    for await (const batch of batches) {
      this.batches.push(batch);
      if (this.mode === "cut") throw new Error("cut");
      if (this.mode === "hold") await new Promise<void>((resolve) => call.cancel.onCancel(() => resolve()));
      else yield { spoolId: batch.spoolId, offset: batch.offset };
    }
  }.bind(this);
}

let sink: LogSink;
afterEach(() => sink.close());

let dropped = 0;
function start(logging: Logging, limits: Partial<SinkLimits> = {}): LogSink {
  dropped = 0;
  const quick = { backoffMs: 1, maxBackoffMs: 5, lingerMs: 1, ...limits };
  sink = createSink({
    append: logging.append,
    spoolId: "test",
    limits: quick,
    onDrop: (count) => {
      dropped += count;
    },
  });
  return sink;
}

function draft(id: string, body = 0): LogDraft {
  const bytes = body === 0 ? null : Buffer.alloc(body, "x");
  return { head: newHead(id, 1), request: { headers: null, body: bytes, json: false, truncated: false }, response: null };
}

function offerAll(count: number, body = 0, from = 0): string[] {
  const ids = Array.from({ length: count }, (_, index) => String(from + index));
  for (const id of ids) expect(sink.offer(draft(id, body))).toBe(true);
  return ids;
}

const soon = () => Date.now() + 10_000;

describe("sink", () => {
  test("records arrive in order, in batches, over one call", async () => {
    const logging = new Logging();
    start(logging);
    const ids = offerAll(950);
    expect(logging.batches).toEqual([]);
    expect(await sink.flush(soon())).toBe(0);
    expect(logging.ids).toEqual(ids);
    expect(Math.max(...logging.batches.map((batch) => batch.records.length))).toBeLessThanOrEqual(200);
    expect(logging.batches.map((batch) => batch.offset)).toEqual(logging.batches.map((_, index) => Math.min(950, (index + 1) * 200)));
    expect(sink.stats()).toEqual({ records: 0, bytes: 0, stored: 950, dropped: 0, breaks: 0 });
    offerAll(1, 0, 950);
    await sink.flush(soon());
    expect(logging.calls).toBe(1);
  });

  test("a record alone goes out by itself after the linger time", async () => {
    const logging = new Logging();
    start(logging, { lingerMs: 10 });
    offerAll(1);
    await vi.waitFor(() => expect(sink.stats().stored).toBe(1));
    expect(logging.ids).toEqual(["0"]);
  });

  test("no batch is larger than its bound", async () => {
    const logging = new Logging();
    start(logging);
    const ids = offerAll(30, 200_000);
    await sink.flush(soon());
    expect(logging.ids).toEqual(ids);
    for (const batch of logging.batches)
      expect(batch.records.reduce((sum, record) => sum + record.length, 0)).toBeLessThanOrEqual(1024 * 1024);
    expect(sink.stats().bytes).toBe(0);
  });

  test("a break sends again what was not acknowledged: nothing is lost", async () => {
    const logging = new Logging();
    logging.mode = "cut";
    start(logging);
    const ids = offerAll(500);
    await vi.waitFor(() => expect(logging.calls).toBeGreaterThan(3));
    logging.mode = "ack";
    expect(await sink.flush(soon())).toBe(0);
    expect([...new Set(logging.ids)].sort((a, b) => Number(a) - Number(b))).toEqual(ids);
    expect(sink.stats()).toMatchObject({ stored: 500, dropped: 0 });
    expect(sink.stats().breaks).toBeGreaterThan(2);
  });

  test("a service that is down keeps records up to the bound, then the oldest waiting go, counted", async () => {
    const logging = new Logging();
    logging.mode = "fail";
    start(logging, { records: 100, batchRecords: 10, window: 2 });
    const ids = offerAll(100);
    await vi.waitFor(() => expect(logging.calls).toBeGreaterThan(2));
    offerAll(50, 0, 100);
    expect(sink.stats().records).toBe(100);
    expect(dropped).toBe(50);
    logging.mode = "ack";
    expect(await sink.flush(soon())).toBe(0);
    // Two batches of 10 were on their way; the 50 after them are the oldest that waited.
    expect(logging.ids).toEqual([...ids.slice(0, 20), ...ids.slice(70), ...Array.from({ length: 50 }, (_, index) => String(100 + index))]);
  });

  test("the bound counts bytes too, and a large body only as far as it is kept", () => {
    const logging = new Logging();
    logging.mode = "hold";
    start(logging, { bytes: 3_000_000 });
    offerAll(20, 10_000_000);
    expect(sink.stats().bytes).toBeLessThanOrEqual(3_000_000);
    expect(sink.stats().records).toBe(11);
    expect(dropped).toBe(9);
  });

  test("a connection that acknowledges nothing is given up and opened again", async () => {
    const logging = new Logging();
    logging.mode = "hold";
    start(logging, { ackTimeoutMs: 40 });
    offerAll(3);
    await vi.waitFor(() => expect(logging.calls).toBeGreaterThan(1));
    logging.mode = "ack";
    expect(await sink.flush(soon())).toBe(0);
    expect(sink.stats().stored).toBe(3);
  });

  test("flush gives up at its deadline and says what is left", async () => {
    const logging = new Logging();
    logging.mode = "fail";
    start(logging);
    offerAll(5);
    expect(await sink.flush(Date.now() + 20)).toBe(5);
    await sink.close();
    expect(dropped).toBe(5);
    expect(sink.offer(draft("late"))).toBe(false);
  });

  test("a head that cannot be written is dropped alone", async () => {
    const logging = new Logging();
    start(logging);
    offerAll(1);
    sink.offer({ ...draft("bad"), head: { ...newHead("bad", 1), decision: { value: 1n } } });
    offerAll(1, 0, 1);
    expect(await sink.flush(soon())).toBe(0);
    expect(logging.ids).toEqual(["0", "1"]);
    expect(dropped).toBe(1);
  });

  test("an idle connection that the service ends is opened again when needed", async () => {
    const logging = new Logging();
    start(logging);
    offerAll(1);
    await sink.flush(soon());
    logging.mode = "cut";
    offerAll(1, 0, 1);
    await vi.waitFor(() => expect(sink.stats().breaks).toBeGreaterThan(0));
    logging.mode = "ack";
    expect(await sink.flush(soon())).toBe(0);
    expect(sink.stats().stored).toBe(2);
  });
});
