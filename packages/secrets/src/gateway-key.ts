import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

// A gateway key is "ugw-", 43 base64url characters (256 random bits) and 6 base64url characters: the CRC-32 (the
// zlib one, big endian) of the 47 characters before it. The CRC lets a mistyped key be refused without a look-up.

const PREFIX = "ugw-";
const CHECKED_LENGTH = PREFIX.length + 43;
const FORM = /^ugw-[A-Za-z0-9_-]{49}$/;

/** A new gateway key. Shown once; only its hash is kept. */
export function makeGatewayKey(): string {
  const checked = PREFIX + randomBytes(32).toString("base64url");
  return checked + checksum(checked);
}

/** Whether a text has the form of a gateway key, its checksum included. Says nothing about whether it is known. */
export function looksLikeGatewayKey(text: string): boolean {
  if (text.length !== CHECKED_LENGTH + 6 || !text.startsWith(PREFIX) || !FORM.test(text)) return false;
  return text.slice(CHECKED_LENGTH) === checksum(text.slice(0, CHECKED_LENGTH));
}

/** SHA-256 of a key's full text: what a `Ref` of kind api_key carries. */
export function hashOfKey(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function checksum(checked: string): string {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(crc32(checked));
  return bytes.toString("base64url");
}
