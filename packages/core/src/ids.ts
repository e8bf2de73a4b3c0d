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
  const bytes = random16();
  bytes.writeUIntBE(now, 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** `prefix` and 24 random hex digits, for ids that people see. */
export function newId(prefix: string): string {
  return `${prefix}${randomBytes(16).toString("hex").slice(0, 24)}`;
}
