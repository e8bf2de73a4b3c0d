import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENDED, FRAME_HEADER, LAST_RECORD, READY, RECORD, STARTED } from "./frame.ts";
import { createFrameBuffer, type FrameBuffer } from "./frame-buffer.ts";
import { keepPosition } from "./position.ts";
import { type Recovered, recoverFolder } from "./recover.ts";
import { SEGMENT_HEADER, segmentPath } from "./segment.ts";
import { createSpanReader } from "./span-reader.ts";
import { type StartedRequest, startedText } from "./started.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "unigate-spool-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const NOW = 1_800_000_000_000;

function started(requestId: string): StartedRequest {
  return {
    time: NOW - 5_000,
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    parentSpanId: "",
    spanName: "",
    sampled: true,
    requestId,
    organisationId: "org-default",
    workspaceId: "ws-default",
    apiKeyId: "key-1",
    surface: "chat",
    method: "POST",
    path: "/chat/completions",
  };
}

/** A segment that opens with the requests given. */
function segment(open: readonly [number, string][] = []): FrameBuffer {
  const buffer = createFrameBuffer();
  buffer.addSegmentHeader(NOW);
  for (const [number, id] of open) buffer.add(STARTED, number, startedText(started(id)));
  buffer.add(READY, 0, null);
  return buffer;
}

async function save(number: number, buffer: FrameBuffer): Promise<void> {
  await writeFile(segmentPath(folder, number), buffer.bytes.subarray(0, buffer.length));
}

/** All that would be delivered. */
async function recordsOf(recovered: Recovered): Promise<string[]> {
  const found: string[] = [];
  const reader = createSpanReader(3, 64);
  for (const span of recovered.spans) {
    if (span.records !== null) found.push(...span.records.map(String));
    else if (span.segment !== null) {
      let count = 0;
      while (span.start < span.end) {
        const part = await reader.read(span, span.segment);
        expect(part.damaged).toBe(false);
        found.push(...part.records.map(String));
        count += part.records.length;
        span.start = part.next;
      }
      expect(count).toBe(span.count);
    }
  }
  await reader.close();
  return found;
}

interface Interrupted {
  readonly id: string;
  readonly request_id: string;
  readonly attempt: number;
}

function interruptedIn(records: readonly string[]): Interrupted[] {
  return records.filter((text) => text.includes('"outcome":"interrupted"')).map((text) => JSON.parse(text) as Interrupted);
}

describe("a cut file", () => {
  test("cut at every byte: exactly the whole records before it", async () => {
    const buffer = segment();
    const ends: number[] = [];
    const records = ["first", "", "third of them", "x".repeat(100)];
    for (const record of records) {
      buffer.add(RECORD, 0, record);
      ends.push(buffer.length);
    }
    const bytes = Buffer.from(buffer.bytes.subarray(0, buffer.length));
    const path = segmentPath(folder, 1);
    for (let length = 0; length <= bytes.length; length++) {
      await writeFile(path, bytes.subarray(0, length));
      const recovered = await recoverFolder(folder, NOW);
      expect(await recordsOf(recovered), `${length} bytes`).toEqual(records.slice(0, ends.filter((end) => end <= length).length));
      const isWhole = length === SEGMENT_HEADER || length === SEGMENT_HEADER + FRAME_HEADER || ends.includes(length);
      expect(recovered, `${length} bytes`).toMatchObject({ torn: isWhole ? 0 : 1, damaged: 0, interrupted: 0 });
    }
  });

  test("records of any size, cut or damaged anywhere: a clean beginning of each segment, in order", async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(sizes, sizes, fc.nat(), fc.nat(255), fc.boolean(), async (first, second, place, flip, isCut) => {
        const texts = (name: string, list: number[]) => list.map((size, index) => `${name}${index}:${"é".repeat(size)}`);
        const all = [texts("a", first), texts("b", second)];
        const ends: number[][] = [];
        for (const [index, list] of all.entries()) {
          const buffer = segment();
          ends.push(
            list.map((text) => {
              buffer.add(RECORD, 0, text);
              return buffer.length;
            }),
          );
          await save(index + 1, buffer);
        }
        const hurt = place % 2;
        const path = segmentPath(folder, hurt + 1);
        const bytes = await readFile(path);
        const at = SEGMENT_HEADER + (place % (bytes.length - SEGMENT_HEADER));
        if (isCut) await truncate(path, at);
        else {
          bytes[at] = (bytes[at] ?? 0) ^ (flip === 0 ? 1 : flip);
          await writeFile(path, bytes);
        }
        const whole = (ends[hurt] ?? []).filter((end) => end <= at).length;
        const expected = all.flatMap((list, index) => (index === hurt ? list.slice(0, whole) : list));
        const recovered = await recoverFolder(folder, NOW);
        expect(await recordsOf(recovered)).toEqual(expected);
        const isClean = isCut && [SEGMENT_HEADER, SEGMENT_HEADER + FRAME_HEADER, ...(ends[hurt] ?? [])].includes(at);
        expect(recovered.torn + recovered.damaged).toBe(isClean ? 0 : 1);
        expect(recovered.damaged).toBe(!isClean && hurt === 0 ? 1 : 0);
      }),
      { numRuns: 60 },
    );
  });

  test("zeros after a crash of the machine are cut off like a torn end", async () => {
    const buffer = segment();
    buffer.add(RECORD, 0, "kept");
    await save(1, buffer);
    await appendFile(segmentPath(folder, 1), Buffer.alloc(5_000));
    const recovered = await recoverFolder(folder, NOW);
    expect(await recordsOf(recovered)).toEqual(["kept"]);
    expect(recovered.torn).toBe(1);
  });

  test("what is no segment, and an empty folder, are left alone", async () => {
    expect(await recoverFolder(folder, NOW)).toMatchObject({ spans: [], segments: [], torn: 0 });
    await writeFile(join(folder, "00000001.segment.bak"), "x");
    await writeFile(join(folder, "notes"), "x");
    await mkdir(join(folder, "inner"));
    expect(await recoverFolder(folder, NOW)).toMatchObject({ spans: [], segments: [], torn: 0 });
    await writeFile(segmentPath(folder, 3), "something else that is long enough");
    expect(await recoverFolder(folder, NOW)).toMatchObject({ spans: [], torn: 1 });
  });
});

describe("requests that never ended", () => {
  test("each gets one record, after what it had; those that ended get none", async () => {
    const buffer = segment();
    for (const [number, id] of ["open", "ended", "recorded", "tried-once"].entries())
      buffer.add(STARTED, number + 1, startedText(started(id)));
    buffer.add(RECORD, 4, "first target failed");
    buffer.add(ENDED, 2, null);
    buffer.add(LAST_RECORD, 3, "done");
    await save(1, buffer);
    const recovered = await recoverFolder(folder, NOW);
    const records = await recordsOf(recovered);
    expect(records.slice(0, 2)).toEqual(["first target failed", "done"]);
    const made = interruptedIn(records);
    expect(made.map(({ request_id, attempt }) => [request_id, attempt])).toEqual([
      ["open", 0],
      ["tried-once", 1],
    ]);
    expect(recovered.interrupted).toBe(2);
    expect(JSON.parse(records[2] ?? "")).toMatchObject({
      schema_version: 1,
      type: "request",
      time: NOW - 5_000,
      trace_id: "0af7651916cd43dd8448eb211c80319c",
      organisation_id: "org-default",
      workspace_id: "ws-default",
      api_key_id: "key-1",
      parent_span_id: null,
      surface: "chat",
      outcome: "interrupted",
      error: { blame: "gateway" },
      request: null,
      response: null,
    });
    expect(made[0]?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test("recovered twice they have the same ids", async () => {
    await save(1, segment([[1, "open"]]));
    const ids = async () => interruptedIn(await recordsOf(await recoverFolder(folder, NOW))).map(({ id }) => id);
    const first = await ids();
    expect(first).toHaveLength(1);
    expect(await ids()).toEqual(first);
  });

  test("the list at a segment's beginning replaces what older segments say", async () => {
    const older = segment();
    older.add(STARTED, 1, startedText(started("ended in memory, its frame was lost")));
    older.add(STARTED, 2, startedText(started("still open")));
    older.add(RECORD, 2, "a target");
    await save(1, older);
    await save(2, segment([[2, "still open"]]));
    const made = interruptedIn(await recordsOf(await recoverFolder(folder, NOW)));
    expect(made.map(({ request_id, attempt }) => [request_id, attempt])).toEqual([["still open", 1]]);
  });

  test("a list that was cut replaces nothing, and its segment's forerunner is kept until the end", async () => {
    const older = segment();
    older.add(STARTED, 1, startedText(started("one")));
    older.add(STARTED, 2, startedText(started("two")));
    await save(1, older);
    const newer = segment([
      [1, "one"],
      [2, "two"],
    ]);
    for (const length of [0, 10, SEGMENT_HEADER, SEGMENT_HEADER + 40, newer.length - 1]) {
      await writeFile(segmentPath(folder, 2), newer.bytes.subarray(0, length));
      const recovered = await recoverFolder(folder, NOW);
      expect(recovered.interrupted, `${length} bytes`).toBe(2);
      expect(recovered.segments.map(({ kept }) => kept)).toEqual([true, true]);
    }
    await save(2, newer);
    const whole = await recoverFolder(folder, NOW);
    expect(whole.interrupted).toBe(2);
    expect(whole.segments.map(({ kept }) => kept)).toEqual([false, true]);
  });

  test("text that is not of ours makes no record", async () => {
    const buffer = segment();
    for (const [number, text] of ["", "{}", "[]", '["time"]', "[1,2]", "[-1]", "[1.5]"].entries()) buffer.add(STARTED, number + 1, text);
    await save(1, buffer);
    expect((await recoverFolder(folder, NOW)).interrupted).toBe(0);
  });
});

describe("the position", () => {
  test("records before it are not sent again, whole segments before it neither", async () => {
    const offsets: number[] = [];
    for (const number of [1, 2, 3]) {
      const buffer = segment();
      for (const name of ["a", "b"]) {
        buffer.add(RECORD, 0, `${name}${number}`);
        if (number === 2) offsets.push(buffer.length);
      }
      await save(number, buffer);
    }
    const position = keepPosition(folder);
    position.note({ segment: 1, offset: 40 });
    position.note({ segment: 2, offset: offsets[0] ?? 0 });
    await position.close();
    expect((await readdir(folder)).sort()).toEqual(["00000001.segment", "00000002.segment", "00000003.segment", "position"]);
    const recovered = await recoverFolder(folder, NOW);
    expect(await recordsOf(recovered)).toEqual(["b2", "a3", "b3"]);
    expect(recovered.segments.map(({ kept }) => kept)).toEqual([false, false, true]);
  });

  test.each(["", "{", "null", '{"segment":"x","offset":1}', '{"segment":1}'])("%s is none: all is sent again", async (text) => {
    const buffer = segment();
    buffer.add(RECORD, 0, "a");
    await save(1, buffer);
    await writeFile(join(folder, "position"), text);
    expect(await recordsOf(await recoverFolder(folder, NOW))).toEqual(["a"]);
  });
});
