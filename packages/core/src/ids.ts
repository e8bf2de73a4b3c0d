import { randomBytes, randomFillSync } from "node:crypto";

const pool = Buffer.allocUnsafe(16 * 256);
let used = pool.length;

/** 16 random bytes from a pool: one system call for 256 ids. */
function random16(): Buffer {
  if (used >= pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = pool.subarray(used, used + 16);
  used += 16;
  return bytes;
}

/** A W3C trace id: 32 hex digits. */
export function newTraceId(): string {
  return random16().toString("hex");
}

/** A W3C span id: 16 hex digits. */
export function newSpanId(): string {
  return random16().toString("hex", 0, 8);
}

/** A UUID version 7: sorts by time. */
export function newUuid(now: number = Date.now()): string {
  const hex = random16().toString("hex");
  const time = now.toString(16).padStart(12, "0");
  const variant = ((Number.parseInt(hex[16] ?? "0", 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/** `prefix` and 24 random hex digits, for ids that people see. */
export function newId(prefix: string): string {
  return `${prefix}${randomBytes(16).toString("hex").slice(0, 24)}`;
}
