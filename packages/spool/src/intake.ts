import type { Clock } from "@unigate/core";
import { encodeRecord, type LogDraft, MAX_BODY_BYTES } from "@unigate/events";
import { ENDED, type FrameKind, LAST_RECORD, MAX_PAYLOAD, RECORD, STARTED } from "./frame.ts";
import type { SpoolLimits } from "./limits.ts";
import type { OpenRequest, OpenRequests } from "./open-requests.ts";
import { memorySpan, type Span } from "./span.ts";
import { type StartedRequest, startedText } from "./started.ts";

/** A frame to be written. */
export interface PlannedFrame {
  readonly kind: FrameKind;
  readonly request: number;
  readonly payload: Buffer | string | null;
}

/** What came within one tick, ready to be written. `span` has no records when only starts and ends came. */
export interface PlannedWrite {
  readonly frames: readonly PlannedFrame[];
  readonly span: Span;
  /** A segment began since, with the list of open requests: the starts and ends in here are told already. */
  isListed: boolean;
}

/** Where requests leave what is to be written: an array push each. It is encoded later, off their path. */
export interface Intake {
  /** Records that are not encoded yet, and roughly their bytes. */
  readonly records: number;
  readonly bytes: number;
  started(request: StartedRequest): number;
  offer(draft: LogDraft, request: number, last: boolean): void;
  ended(request: number): void;
  /** Encodes all that waits, now. */
  flush(): void;
  /** Drops the oldest record. False when there is none. */
  dropOldest(): boolean;
  close(): void;
}

interface Waiting {
  /** Null: the start or the end of a request, or a record that was dropped. */
  draft: LogDraft | null;
  readonly open: OpenRequest | null;
  readonly kind: FrameKind;
  readonly request: number;
  readonly bytes: number;
}

/** What a record is taken to weigh beside its bodies, bytes. */
const HEAD_BYTES = 1_500;
/** What is encoded in one go, before requests have their turn. */
const TURN_FRAMES = 500;
const TURN_BYTES = 1024 * 1024;

/** `onWrite` gets what came in a tick, in order; `onDrop` is told of records that cannot be encoded. */
export function createIntake(
  limits: SpoolLimits,
  clock: Clock,
  openRequests: OpenRequests,
  onWrite: (write: PlannedWrite) => void,
  onDrop: (records: number) => void,
): Intake {
  let waiting: Waiting[] = [];
  let [records, bytes, firstAt] = [0, 0, 0];
  /** How many of the oldest that wait hold no record any more. */
  let emptied = 0;
  let timer: NodeJS.Timeout | null = null;
  let immediate: NodeJS.Immediate | null = null;

  function add(one: Waiting): void {
    if (waiting.length === 0) firstAt = clock.now();
    waiting.push(one);
    if (waiting.length >= TURN_FRAMES || bytes >= TURN_BYTES) immediate ??= setImmediate(turn);
    else timer ??= setTimeout(turn, limits.writeDelayMs);
  }

  function stopTimers(): void {
    if (timer !== null) clearTimeout(timer);
    if (immediate !== null) clearImmediate(immediate);
    timer = null;
    immediate = null;
  }

  function turn(): void {
    stopTimers();
    encodeSome();
    if (waiting.length > 0) immediate = setImmediate(turn);
  }

  function encodeSome(): void {
    const frames: PlannedFrame[] = [];
    const payloads: Buffer[] = [];
    let [weight, at] = [0, 0];
    for (; at < waiting.length && frames.length < TURN_FRAMES && weight < TURN_BYTES; at++) {
      const one = waiting[at];
      if (one === undefined) break;
      const frame = frameOf(one);
      if (frame === null) continue;
      frames.push(frame);
      if (!Buffer.isBuffer(frame.payload)) continue;
      payloads.push(frame.payload);
      weight += frame.payload.length;
    }
    waiting = at === waiting.length ? [] : waiting.slice(at);
    emptied = 0;
    if (frames.length > 0) onWrite({ frames, span: memorySpan(payloads, weight, firstAt), isListed: false });
  }

  function frameOf({ draft, open, kind, request, bytes: estimate }: Waiting): PlannedFrame | null {
    if (kind === STARTED) {
      if (open === null || open.over) return null;
      open.recorded = true;
      return { kind, request, payload: startedText(open.started) };
    }
    if (kind === ENDED) return { kind, request, payload: null };
    const ending: PlannedFrame | null = kind === LAST_RECORD ? { kind: ENDED, request, payload: null } : null;
    if (draft === null) return ending;
    records -= 1;
    bytes -= estimate;
    const payload = encodedOrNull(draft);
    if (payload !== null) return { kind, request, payload };
    onDrop(1);
    return ending;
  }

  return {
    get records() {
      return records;
    },
    get bytes() {
      return bytes;
    },
    started(request) {
      const open = openRequests.start(request);
      add({ draft: null, open, kind: STARTED, request: open.number, bytes: 0 });
      return open.number;
    },
    offer(draft, request, last) {
      const ended = last ? openRequests.end(request) : undefined;
      const size = HEAD_BYTES + bodyBytes(draft.request) + bodyBytes(draft.response);
      records += 1;
      bytes += size;
      add({ draft, open: null, kind: ended?.recorded === true ? LAST_RECORD : RECORD, request, bytes: size });
    },
    ended(number) {
      const request = openRequests.end(number);
      if (request?.recorded === true) add({ draft: null, open: null, kind: ENDED, request: number, bytes: 0 });
    },
    flush() {
      stopTimers();
      while (waiting.length > 0) encodeSome();
    },
    dropOldest() {
      while (emptied < waiting.length && waiting[emptied]?.draft === null) emptied += 1;
      const oldest = waiting[emptied];
      if (oldest === undefined) return false;
      oldest.draft = null;
      records -= 1;
      bytes -= oldest.bytes;
      onDrop(1);
      return true;
    },
    close: stopTimers,
  };
}

function bodyBytes(message: LogDraft["request"]): number {
  return Math.min(message?.body?.length ?? 0, MAX_BODY_BYTES);
}

/** Null when a field of the head cannot be JSON, or is absurdly long: such a record can never be stored. */
function encodedOrNull(draft: LogDraft): Buffer | null {
  try {
    const bytes = encodeRecord(draft);
    return bytes.length <= MAX_PAYLOAD ? bytes : null;
  } catch {
    return null;
  }
}
