import { open, stat } from "node:fs/promises";
import { encodeRecord } from "@unigate/events";
import { ENDED, type Frame, LAST_RECORD, READY, RECORD, STARTED } from "./frame.ts";
import { readPosition } from "./position.ts";
import { readFrames } from "./read-frames.ts";
import { readSegmentHeader, SEGMENT_HEADER, type Segment, segmentNumbers, segmentPath } from "./segment.ts";
import { diskSpan, memorySpan, type Span } from "./span.ts";
import { interruptedDraft } from "./started.ts";

/** What a process that is gone left in its folder. */
export interface Recovered {
  readonly segments: readonly Segment[];
  /** What it had not delivered, oldest first; at last the records of the requests it left unfinished. */
  readonly spans: readonly Span[];
  readonly interrupted: number;
  /** Files that end in a part of a frame: the write was cut. */
  readonly torn: number;
  /** Files with damage before the last one: what follows the damage in them is lost. */
  readonly damaged: number;
}

interface Unfinished {
  readonly text: string;
  /** Its records so far. */
  records: number;
}

/** The requests that are open after some frames; what a segment lists at its beginning replaces what was known. */
interface Ledger {
  open: Map<number, Unfinished>;
  listed: Map<number, Unfinished>;
  isReady: boolean;
}

const CHUNK = 1024 * 1024;

/** Reads all segments of a folder whose owner is gone. Throws when the folder cannot be read. */
export async function recoverFolder(folder: string, now: number): Promise<Recovered> {
  const position = await readPosition(folder);
  const numbers = await segmentNumbers(folder);
  const segments: Segment[] = [];
  const spans: Span[] = [];
  const ledger: Ledger = { open: new Map(), listed: new Map(), isReady: false };
  let [torn, damaged] = [0, 0];
  for (const number of numbers) {
    const isLast = number === numbers.at(-1);
    const from = number < position.segment ? Number.POSITIVE_INFINITY : number === position.segment ? position.offset : 0;
    const scan = await scanSegment(folder, number, from, ledger);
    // What tells which requests were open is needed until their records are delivered: it goes with the folder.
    if (ledger.isReady) for (const segment of segments) segment.kept = false;
    segments.push(scan.segment);
    if (scan.records > 0) spans.push(diskSpan(scan.segment, scan.start, scan.end, scan.records));
    if (scan.isWhole) continue;
    if (isLast) torn += 1;
    else damaged += 1;
  }
  const records = [...ledger.open.values()].flatMap(({ text, records: attempts }) => {
    const draft = interruptedDraft(text, attempts);
    return draft === null ? [] : [encodeRecord(draft)];
  });
  const weight = records.reduce((sum, record) => sum + record.length, 0);
  if (records.length > 0) spans.push(memorySpan(records, weight, now));
  return { segments, spans, interrupted: records.length, torn, damaged };
}

interface Scan {
  readonly segment: Segment;
  /** Where the undelivered records begin and the whole frames end. */
  readonly start: number;
  readonly end: number;
  readonly records: number;
  readonly isWhole: boolean;
}

async function scanSegment(folder: string, number: number, from: number, ledger: Ledger): Promise<Scan> {
  const path = segmentPath(folder, number);
  const { size, mtimeMs } = await stat(path);
  const handle = await open(path, "r");
  try {
    const header = Buffer.alloc(SEGMENT_HEADER);
    const { bytesRead } = await handle.read(header, 0, SEGMENT_HEADER, 0);
    const createdAt = readSegmentHeader(header.subarray(0, bytesRead));
    const segment: Segment = { number, path, createdAt: createdAt ?? mtimeMs, bytes: size, kept: true, spans: 0 };
    ledger.isReady = false;
    ledger.listed = new Map();
    if (createdAt === null) return { segment, start: 0, end: 0, records: 0, isWhole: false };
    let [at, records, isWhole] = [SEGMENT_HEADER, 0, true];
    const start = Math.max(SEGMENT_HEADER, from);
    while (isWhole && at < size) {
      const chunk = await readFrames(handle, at, size, CHUNK);
      for (const frame of chunk.frames) {
        enter(ledger, frame);
        if ((frame.kind === RECORD || frame.kind === LAST_RECORD) && chunk.from + frame.start >= start) records += 1;
      }
      at = chunk.next;
      isWhole = !chunk.damaged;
    }
    return { segment, start, end: at, records, isWhole };
  } finally {
    await handle.close();
  }
}

function enter(ledger: Ledger, { kind, request, payload }: Frame): void {
  const { open: known } = ledger;
  if (kind === READY) {
    ledger.open = ledger.listed;
    ledger.isReady = true;
  } else if (kind === STARTED && !ledger.isReady) {
    const before = known.get(request);
    ledger.listed.set(request, before ?? { text: payload.toString("utf8"), records: 0 });
  } else if (kind === STARTED) {
    if (!known.has(request)) known.set(request, { text: payload.toString("utf8"), records: 0 });
  } else if (kind === RECORD) {
    const unfinished = known.get(request);
    if (unfinished !== undefined) unfinished.records += 1;
  } else if (kind === ENDED || kind === LAST_RECORD) known.delete(request);
}
