import type { AppendAck, AppendBatch } from "@unigate/contracts";
import { backgroundCall, boundCall, type Call } from "@unigate/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type AppendDelivery, appendDelivery } from "./append-delivery.ts";

/** A logging service that does as the test says: "ack" at once, "hold" all answers, "fail" each call, "cut" after a batch. */
class Logging {
  mode: "ack" | "hold" | "fail" | "cut" = "ack";
  calls = 0;
  readonly ended: string[] = [];
  readonly batches: AppendBatch[] = [];

  append = async function* (this: Logging, batches: AsyncIterable<AppendBatch>, call: Call): AsyncGenerator<AppendAck> {
    this.calls += 1;
    call.cancel.onCancel((reason) => this.ended.push(reason));
    if (this.mode === "fail") throw new Error("down");
    for await (const batch of batches) {
      this.batches.push(batch);
      if (this.mode === "cut") throw new Error("cut");
      if (this.mode === "hold") await new Promise<void>((resolve) => call.cancel.onCancel(() => resolve()));
      else yield { spoolId: batch.spoolId, offset: batch.offset };
    }
  }.bind(this);
}

let delivery: AppendDelivery;
afterEach(() => delivery.close());

function batch(offset: number, spoolId = "a"): AppendBatch {
  return { spoolId, offset, records: [Buffer.from("{}")] };
}

describe("delivery over Append", () => {
  test("one call for all batches, of several spools too; the records are the same buffers", async () => {
    const logging = new Logging();
    delivery = appendDelivery(logging.append);
    const first = batch(1);
    expect(await delivery.deliver(first, backgroundCall())).toBe(true);
    expect(await Promise.all([delivery.deliver(batch(2), backgroundCall()), delivery.deliver(batch(7, "b"), backgroundCall())])).toEqual([
      true,
      true,
    ]);
    expect(logging.calls).toBe(1);
    expect(logging.batches[0]?.records[0]).toBe(first.records[0]);
  });

  test.each(["fail", "cut"] as const)("%s: not acknowledged, and the next batch opens a new call", async (mode) => {
    const logging = new Logging();
    delivery = appendDelivery(logging.append);
    logging.mode = mode;
    expect(await delivery.deliver(batch(1), backgroundCall())).toBe(false);
    logging.mode = "ack";
    expect(await delivery.deliver(batch(1), backgroundCall())).toBe(true);
    expect(logging.calls).toBe(2);
  });

  test("a deadline ends the call that does not answer", async () => {
    const logging = new Logging();
    logging.mode = "hold";
    delivery = appendDelivery(logging.append);
    const bounded = boundCall(backgroundCall(), 10);
    expect(await delivery.deliver(batch(1), bounded.call)).toBe(false);
    bounded.done();
    expect(logging.ended).toEqual(["deadline"]);
    logging.mode = "ack";
    expect(await delivery.deliver(batch(1), backgroundCall())).toBe(true);
  });

  test("close ends the call and what waits", async () => {
    const logging = new Logging();
    logging.mode = "hold";
    delivery = appendDelivery(logging.append);
    const waiting = delivery.deliver(batch(1), backgroundCall());
    await vi.waitFor(() => expect(logging.batches).toHaveLength(1));
    await delivery.close();
    expect(await waiting).toBe(false);
    expect(logging.ended).toEqual(["shutdown"]);
  });
});
