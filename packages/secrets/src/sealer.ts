import { createHash, createHmac, randomBytes } from "node:crypto";
import type { Sealed } from "@unigate/contracts";
import { type Credentials, isObject, Secret } from "@unigate/core";
import { decrypt, encrypt, NONCE_BYTES } from "./gcm.ts";
import { createOpenedCache } from "./opened-cache.ts";
import { SecretError } from "./secret-error.ts";

/** Seals credentials, and opens them where they are used (connector and guardrail only). */
export interface Sealer {
  /** First 8 hex digits of the master key's SHA-256. */
  readonly keyId: string;
  /** Seals for one place. Throws SecretError "bad_place" when the organisation id holds a slash. */
  seal(plain: Readonly<Record<string, string>>, organisationId: string, resourceId: string): Sealed;
  /** Throws SecretError: "wrong_master_key", "moved" or "tampered". */
  open(sealed: Sealed, organisationId: string, resourceId: string): Credentials;
  /** 16 hex digits that change with the text and tell nothing of it without the master key: for versions. */
  fingerprint(text: string): string;
}

/** Bytes of a master key and of a data key. */
export const KEY_BYTES = 32;
const NO_PLACE = Buffer.alloc(0);
const MOVED = "a sealed value belongs to another organisation or resource";

/**
 * AES-256-GCM under a fresh data key, with "<organisation id>/<resource id>" as additional data. The master key wraps
 * the data key together with the SHA-256 of the place, so that a moved value can be told from a changed one.
 * Opened values are kept, the `cacheSize` (default 1,000; 0 = none) most recently used.
 */
export function createSealer(masterKey: Buffer, { cacheSize = 1_000 }: { readonly cacheSize?: number } = {}): Sealer {
  if (masterKey.length !== KEY_BYTES)
    throw new SecretError("bad_master_key", `a master key has ${KEY_BYTES} bytes; this one has ${masterKey.length}`);
  const keyId = createHash("sha256").update(masterKey).digest("hex").slice(0, 8);
  const fingerprintKey = createHmac("sha256", masterKey).update("unigate fingerprint").digest();
  const cache = createOpenedCache(cacheSize);
  /** In one process the same message comes again: found by identity, for the place it was opened at. */
  const seen = new WeakMap<Sealed, { readonly organisationId: string; readonly resourceId: string; readonly opened: Credentials }>();

  function openUncached(sealed: Sealed, place: Buffer): Credentials {
    if (sealed.keyId !== keyId)
      throw new SecretError("wrong_master_key", `sealed under master key ${printable(sealed.keyId)}; this process has ${keyId}`);
    const wrapped = decrypt(masterKey, sealed.wrappedKey.subarray(0, NONCE_BYTES), sealed.wrappedKey.subarray(NONCE_BYTES), NO_PLACE);
    if (wrapped === null) throw new SecretError("tampered", "the wrapped data key of a sealed value is damaged");
    if (!wrapped.subarray(KEY_BYTES).equals(sha256(place))) throw new SecretError("moved", MOVED);
    const plain = decrypt(wrapped.subarray(0, KEY_BYTES), sealed.nonce, sealed.ciphertext, place);
    if (plain === null) throw new SecretError("tampered", "a sealed value was changed after it was sealed");
    return credentialsOf(plain);
  }

  return {
    keyId,
    seal(plain, organisationId, resourceId) {
      if (organisationId === "" || organisationId.includes("/"))
        throw new SecretError("bad_place", "an organisation id is not empty and holds no slash");
      const place = Buffer.from(`${organisationId}/${resourceId}`);
      const dataKey = randomBytes(KEY_BYTES);
      const value = encrypt(dataKey, Buffer.from(JSON.stringify(plain)), place);
      const wrapped = encrypt(masterKey, Buffer.concat([dataKey, sha256(place)]), NO_PLACE);
      dataKey.fill(0);
      return { keyId, nonce: value.nonce, ciphertext: value.ciphertext, wrappedKey: Buffer.concat([wrapped.nonce, wrapped.ciphertext]) };
    },
    open(sealed, organisationId, resourceId) {
      const last = cacheSize > 0 ? seen.get(sealed) : undefined;
      if (last !== undefined && last.organisationId === organisationId && last.resourceId === resourceId) return last.opened;
      // Else "org/a" + "b" would pass for "org" + "a/b".
      if (organisationId.includes("/")) throw new SecretError("moved", MOVED);
      const place = `${organisationId}/${resourceId}`;
      const key = `${place}\n${sealed.keyId}\n${latin(sealed.nonce)}${latin(sealed.wrappedKey)}${latin(sealed.ciphertext)}`;
      let opened = cache.get(key);
      if (opened === undefined) {
        opened = openUncached(sealed, Buffer.from(place));
        cache.set(key, opened);
      }
      seen.set(sealed, { organisationId, resourceId, opened });
      return opened;
    },
    fingerprint: (text) => createHmac("sha256", fingerprintKey).update(text).digest("hex").slice(0, 16),
  };
}

function credentialsOf(plain: Buffer): Credentials {
  const json: unknown = JSON.parse(plain.toString("utf8"));
  const texts = Object.entries(isObject(json) ? json : {}).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(texts.map(([name, text]) => [name, new Secret(text)]));
}

function sha256(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}

function latin(bytes: Buffer): string {
  return bytes.toString("latin1");
}

/** A key id comes from the wire: only 8 hex digits of it are ever shown. */
function printable(keyId: string): string {
  return /^[0-9a-f]{8}$/.test(keyId) ? keyId : "of an unknown form";
}
