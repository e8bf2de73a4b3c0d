import { CompleteLines, FrameTooLargeError, MAX_FRAME_BYTES } from "./complete-lines.ts";

/** Takes an event: its `event:` name ("" when it has none) and its data, lines joined with "\n". */
export type SseListener = (name: string, data: string) => void;

/** An incremental reader of server-sent events. One instance a response. */
export interface SseParser {
  /** Gives every event that `chunk` completes to the listener. Throws FrameTooLargeError past the bound. */
  push(chunk: Buffer): void;
  /**
   * The body ended cleanly. An event that lacks its blank line, or even its last line break, is still delivered,
   * against the letter of the standard: several providers end that way, and a cut body never gets here (it is an
   * error of the exchange). Returns false when there was such an event.
   */
  end(): boolean;
  /** Comment lines seen so far. */
  readonly comments: number;
}

const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;

/**
 * Accepts "\n", "\r\n" and lone "\r", a byte order mark, `data:` with or without the space, and any split of the bytes;
 * `id` and `retry` are ignored. `maxEventBytes` (default 16 MiB) bounds one event, field names included.
 */
export function createSseParser(onEvent: SseListener, maxEventBytes: number = MAX_FRAME_BYTES): SseParser {
  const lines = new CompleteLines(true);
  let name = "";
  let data: string | null = null;
  /** Characters of the event under way. */
  let size = 0;
  let comments = 0;
  let started = false;
  let skipLf = false;

  function dispatch(): void {
    const complete = data;
    const called = name;
    name = "";
    data = null;
    size = 0;
    if (complete !== null) onEvent(called, complete);
  }

  function readLine(text: string, start: number, end: number): void {
    if (start === end) return dispatch();
    if (size + end - start > maxEventBytes) throw new FrameTooLargeError(maxEventBytes);
    if (text.charCodeAt(start) === COLON) {
      comments += 1;
      return;
    }
    const colon = text.indexOf(":", start);
    const nameEnd = colon < 0 || colon > end ? end : colon;
    const value = nameEnd === end ? end : nameEnd + (text.charCodeAt(nameEnd + 1) === SPACE ? 2 : 1);
    if (isField(text, "data", start, nameEnd)) {
      size += end - start;
      data = data === null ? text.slice(value, end) : `${data}\n${text.slice(value, end)}`;
    } else if (isField(text, "event", start, nameEnd)) {
      size += end - start;
      name = text.slice(value, end);
    }
  }

  function readLines(text: string): void {
    const length = text.length;
    let at = 0;
    if (!started) {
      started = true;
      if (text.charCodeAt(0) === 0xfeff) at = 1;
    }
    if (skipLf && text.charCodeAt(0) === LF) at = 1;
    skipLf = text.charCodeAt(length - 1) === CR;
    if (text.includes("\r")) return readMixedLines(text, at);
    while (at < length) {
      const end = text.indexOf("\n", at);
      // Most events are one data line and a blank line, with nothing before them.
      if (data === null && end - at >= 5 && text.charCodeAt(end + 1) === LF && text.startsWith("data:", at)) {
        if (size + end - at > maxEventBytes) throw new FrameTooLargeError(maxEventBytes);
        const called = name;
        name = "";
        size = 0;
        onEvent(called, text.slice(text.charCodeAt(at + 5) === SPACE ? at + 6 : at + 5, end));
        at = end + 2;
        continue;
      }
      readLine(text, at, end);
      at = end + 1;
    }
  }

  function readMixedLines(text: string, from: number): void {
    const length = text.length;
    let at = from;
    let lf = -2;
    let cr = -2;
    while (at < length) {
      if (lf !== -1 && lf < at) lf = text.indexOf("\n", at);
      if (cr !== -1 && cr < at) cr = text.indexOf("\r", at);
      const end = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf;
      readLine(text, at, end);
      at = end === cr && lf === cr + 1 ? lf + 1 : end + 1;
    }
  }

  return {
    push(chunk) {
      if (chunk.length === 0) return;
      const text = lines.take(chunk);
      if (text !== "") readLines(text);
      if (size + lines.pending > maxEventBytes) throw new FrameTooLargeError(maxEventBytes);
    },
    end() {
      if (lines.pending > 0) readLines(`${lines.rest()}\n`);
      const left = data !== null;
      dispatch();
      return !left;
    },
    get comments() {
      return comments;
    },
  };
}

/** Whether the field name in `text` from `start` to `end` is `field`. */
function isField(text: string, field: string, start: number, end: number): boolean {
  return end - start === field.length && text.startsWith(field, start);
}

/** One event as text. Data with line breaks becomes several `data:` lines; a break in the name becomes a space. */
export function encodeSse(name: string, data: string): string {
  const lines = data.includes("\n") || data.includes("\r") ? data.replace(/\r\n|\r|\n/g, "\ndata: ") : data;
  return name === "" ? `data: ${lines}\n\n` : `event: ${name.replace(/[\r\n]+/g, " ")}\ndata: ${lines}\n\n`;
}

/** A comment as text: what every reader of events ignores. A break in it becomes a space. */
export function sseComment(text: string): string {
  return `: ${text.replace(/[\r\n]+/g, " ")}\n\n`;
}
