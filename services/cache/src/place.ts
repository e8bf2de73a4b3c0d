import { hash } from "node:crypto";

const DIGEST_BYTES = 32;
const TOKEN_VERSION = 1;
const TOKEN_BYTES = 1 + 2 * DIGEST_BYTES;

/** Where an entry is: one of an organisation's, found by nobody else. */
export interface Place {
  readonly organisationId: string;
  /** SHA-256 of partition and exact key. */
  readonly digest: Buffer;
}

/** The place of a request's answer. Keys and workspaces of one organisation share it (behaviour 6). */
export function placeOf(organisationId: string, partition: string, exactKey: Buffer): Place {
  const digest = hash("sha256", Buffer.concat([digestOf(partition), exactKey]), "buffer");
  return { organisationId, digest };
}

/** Key in the store; the hash tag keeps an organisation's entries together. */
export function storeKey(place: Place): string {
  return `ug:{${place.organisationId}}:e:${place.digest.toString("base64url")}`;
}

/** Names a place for `Store`: version, SHA-256 of the organisation, digest. No state is kept for it. */
export function fillToken(place: Place): string {
  return Buffer.concat([Buffer.of(TOKEN_VERSION), digestOf(place.organisationId), place.digest]).toString("base64url");
}

/**
 * The place that a token names, for the organisation that brings it. Null when it is no token or another
 * organisation's: the organisation always comes from the caller, so no token can lead out of it.
 */
export function placeOfToken(organisationId: string, token: string): Place | null {
  const bytes = Buffer.from(token, "base64url");
  if (bytes.length !== TOKEN_BYTES || bytes[0] !== TOKEN_VERSION) return null;
  if (!bytes.subarray(1, 1 + DIGEST_BYTES).equals(digestOf(organisationId))) return null;
  return { organisationId, digest: bytes.subarray(1 + DIGEST_BYTES) };
}

/** Digests of organisations and partitions: few, and each in every request of theirs. */
const digests = new Map<string, Buffer>();
const MAX_DIGESTS = 1_000;
/** A longer name is not worth its place. */
const MAX_NAME = 200;

function digestOf(name: string): Buffer {
  const known = digests.get(name);
  if (known !== undefined) return known;
  const digest = hash("sha256", name, "buffer");
  if (digests.size >= MAX_DIGESTS) digests.clear();
  if (name.length <= MAX_NAME) digests.set(name, digest);
  return digest;
}
