import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ENDED, FRAME_HEADER, type FrameKind, LAST_RECORD, READY, RECORD, readFrame, STARTED } from "./frame.ts";
import { createFrameBuffer } from "./frame-buffer.ts";

const frames = fc.array(
  fc.record({
    kind: fc.constantFrom<FrameKind>(STARTED, RECORD, LAST_RECORD, ENDED, READY),
    request: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    payload: fc.oneof(
      fc.constant(null),
      fc.string({ unit: "binary" }),
      fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes)),
    ),
  }),
  { maxLength: 20 },
);

test("what is written is read again", () => {
  fc.assert(
    fc.property(frames, (written) => {
      const buffer = createFrameBuffer();
      for (const { kind, request, payload } of written) buffer.add(kind, request, payload);
      const bytes = buffer.bytes.subarray(0, buffer.length);
      let at = 0;
      for (const { kind, request, payload } of written) {
        const frame = readFrame(bytes, at);
        if (frame === "damaged" || "needs" in frame) throw new Error("no frame");
        expect({ kind: frame.kind, request: frame.request }).toEqual({ kind, request });
        expect(frame.payload.equals(Buffer.from(payload ?? ""))).toBe(true);
        at = frame.end;
      }
      expect(at).toBe(bytes.length);
      expect(readFrame(bytes, at)).toEqual({ needs: FRAME_HEADER });
    }),
  );
});

test("no single wrong byte and no missing end goes unseen", () => {
  const buffer = createFrameBuffer();
  buffer.add(RECORD, 7, "a record");
  const bytes = Buffer.from(buffer.bytes.subarray(0, buffer.length));
  for (let at = 0; at < bytes.length; at++) {
    const cut = readFrame(bytes.subarray(0, at), 0);
    expect(cut).toEqual({ needs: at < FRAME_HEADER ? FRAME_HEADER : bytes.length });
    for (const flip of [0x01, 0x80, 0xff]) {
      const wrong = Buffer.from(bytes);
      wrong[at] = (wrong[at] ?? 0) ^ flip;
      const read = readFrame(wrong, 0);
      expect(read === "damaged" || "needs" in read, `byte ${at}`).toBe(true);
    }
  }
});

test("a run of zeros is no frame", () => {
  expect(readFrame(Buffer.alloc(1_000), 0)).toBe("damaged");
});
