import type { DraftMessage } from "./draft.ts";

/** Longest body in a record, bytes of its JSON (DESIGN 8.24). */
export const MAX_BODY_BYTES = 256 * 1024;

/** The message itself, or one that holds only the beginning of a body too long, copied so that the whole is freed. */
export function boundMessage(message: DraftMessage | null): DraftMessage | null {
  if (message === null || message.body === null || message.body.length <= MAX_BODY_BYTES) return message;
  const beginning = Buffer.from(message.body.subarray(0, MAX_BODY_BYTES));
  return { headers: message.headers, body: beginning, json: false, truncated: true };
}

/** The JSON text of a body that is not known to be JSON, and whether it had to be cut to fit `MAX_BODY_BYTES`. */
export function textBody(bytes: Buffer): { json: string; cut: boolean } {
  let end = Math.min(bytes.length, MAX_BODY_BYTES);
  for (;;) {
    const json = JSON.stringify(bytes.toString("utf8", 0, wholeCharacters(bytes, end)));
    const size = Buffer.byteLength(json);
    if (size <= MAX_BODY_BYTES) return { json, cut: end < bytes.length };
    end = Math.floor((end * (MAX_BODY_BYTES - 2)) / size);
  }
}

/** `end`, moved back to where no UTF-8 character is split. */
function wholeCharacters(bytes: Buffer, end: number): number {
  let at = end;
  while (at > 0 && at > end - 4 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at -= 1;
  return at;
}
