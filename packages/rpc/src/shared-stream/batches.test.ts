import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeAnswerBatch, encodeAnswerBatch } from "./answer-batch.ts";
import { decodeCallBatch, encodeCallBatch } from "./call-batch.ts";

const number = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(0, 127, 128, 16_383, 16_384, 2 ** 21, 2 ** 28, 2 ** 31));
const payload = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const ascii = fc.string({ unit: "binary-ascii", maxLength: 200 });

const call = fc.record({ id: number, method: number, path: ascii, timeoutMs: number, traceparent: ascii, payload });
const callBatch = fc.record({ calls: fc.array(call), cancelled: fc.array(number) });

const text = fc.string({ unit: "grapheme", maxLength: 200 });
const answer = fc.record({ id: number, status: number, message: text, payload, more: fc.boolean(), unserved: fc.boolean() });
const answerBatch = fc.record({ answers: fc.array(answer), draining: fc.boolean() });

describe("batches", () => {
  test("calls come out as they went in", () => {
    fc.assert(
      fc.property(callBatch, (batch) => {
        expect(decodeCallBatch(encodeCallBatch(batch))).toEqual(batch);
      }),
    );
  });

  test("answers come out as they went in", () => {
    fc.assert(
      fc.property(answerBatch, (batch) => {
        expect(decodeAnswerBatch(encodeAnswerBatch(batch))).toEqual(batch);
      }),
    );
  });

  test.each([
    ["calls", decodeCallBatch],
    ["answers", decodeAnswerBatch],
  ])("any bytes are %s or an error", (_, decode) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          decode(Buffer.from(bytes));
        } catch (error) {
          expect((error as Error).message).toBe("The bytes are no message.");
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("a batch that was cut is an error or a shorter batch, never another one", () => {
    fc.assert(
      fc.property(callBatch, fc.nat(), (batch, at) => {
        const bytes = encodeCallBatch(batch);
        const cut = bytes.subarray(0, at % (bytes.length + 1));
        try {
          const { calls } = decodeCallBatch(cut);
          expect(batch.calls.slice(0, calls.length)).toEqual(calls);
        } catch (error) {
          expect((error as Error).message).toBe("The bytes are no message.");
        }
      }),
    );
  });

  test.each([
    ["unknown fields of every type are skipped", "78017d00000000790000000000000000 7a0100 1001", { calls: [], cancelled: [1] }],
    ["single and packed ids are the same", "1001 12020203", { calls: [], cancelled: [1, 2, 3] }],
    ["the last of a repeated field counts", "0a0408010802", { calls: [{ ...empty(), id: 2 }], cancelled: [] }],
  ])("%s", (_, hex, batch) => {
    expect(decodeCallBatch(Buffer.from(hex.replaceAll(" ", ""), "hex"))).toEqual(batch);
  });

  test.each([
    ["field 0", "00"],
    ["a length beyond the end", "0a05"],
    ["a nested length beyond its message", "0a023205"],
    ["a varint without end", "10ffffffffffffffffffffff"],
    ["a group", "0b"],
    ["bytes where a number is due", "0a020a00"],
    ["a number where bytes are due", "0801"],
  ])("%s is refused", (_, hex) => {
    expect(() => decodeCallBatch(Buffer.from(hex, "hex"))).toThrow("The bytes are no message.");
  });
});

function empty() {
  return { id: 0, method: 0, path: "", timeoutMs: 0, traceparent: "", payload: Buffer.alloc(0) };
}
