import { CompleteLines, FrameTooLargeError, MAX_FRAME_BYTES } from "./complete-lines.ts";

/** An incremental reader of newline-delimited JSON. One instance a response. */
export interface NdjsonParser {
  /** Gives every line that `chunk` completes to the listener. Throws FrameTooLargeError past the bound. */
  push(chunk: Buffer): void;
  /** The body ended cleanly: a last line without its break is still delivered. Returns false when there was one. */
  end(): boolean;
}

/**
 * Lines end with "\n" or "\r\n"; blank lines are skipped; a byte order mark is dropped; the JSON itself is not looked at.
 * `maxLineBytes` (default 16 MiB) bounds one line.
 */
export function createNdjsonParser(onLine: (text: string) => void, maxLineBytes: number = MAX_FRAME_BYTES): NdjsonParser {
  const lines = new CompleteLines(false);
  let started = false;

  function readLines(text: string): void {
    let at = 0;
    if (!started) {
      started = true;
      if (text.charCodeAt(0) === 0xfeff) at = 1;
    }
    while (at < text.length) {
      const end = text.indexOf("\n", at);
      if (end - at > maxLineBytes) throw new FrameTooLargeError(maxLineBytes);
      const line = text.slice(at, text.charCodeAt(end - 1) === 13 && end > at ? end - 1 : end);
      at = end + 1;
      if (line.trim() !== "") onLine(line);
    }
  }

  return {
    push(chunk) {
      if (chunk.length === 0) return;
      const text = lines.take(chunk);
      if (text !== "") readLines(text);
      if (lines.pending > maxLineBytes) throw new FrameTooLargeError(maxLineBytes);
    },
    end() {
      if (lines.pending === 0) return true;
      const rest = lines.rest();
      const blank = rest.trim() === "";
      if (!blank) readLines(`${rest}\n`);
      return blank;
    },
  };
}
