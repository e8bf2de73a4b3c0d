import { Entry, type LookupReply, type LookupRequest } from "@unigate/contracts";
import { RpcError } from "@unigate/rpc";
import type { CacheDeps } from "./deps.ts";
import { whileLost } from "./lost-store.ts";
import { maxAgeSeconds } from "./max-age.ts";
import { fillToken, placeOf, storeKey } from "./place.ts";

/**
 * HIT with the entry; MISS or REFRESH with the token to store the answer under. REFRESH forgets what was stored. A
 * peek changes nothing and gives no token. An entry older than this request's own `max_age_s` is a MISS, and stays
 * for those who take it. A lost store is a MISS too.
 */
export async function lookup({ store, clock }: CacheDeps, request: LookupRequest): Promise<LookupReply> {
  const { tenant, partition, exactKey, peek } = request;
  if (tenant === undefined || tenant.organisationId === "" || exactKey.length === 0) {
    throw new RpcError("INVALID_ARGUMENT", "Lookup needs a tenant and an exact key.");
  }
  const place = placeOf(tenant.organisationId, partition, exactKey);
  const key = storeKey(place);
  if (request.refresh) {
    if (peek) return { outcome: undefined, status: "REFRESH" };
    await whileLost(store.delete(key), false);
    return { outcome: { $case: "fillToken", value: fillToken(place) }, status: "REFRESH" };
  }
  const stored = await whileLost(peek ? store.peek(key) : store.get(key), null);
  const entry = stored === null ? null : readEntry(stored);
  if (entry !== null && entry.storedAt + 1_000 * maxAgeSeconds(request.maxAgeS) >= clock.now()) {
    return { outcome: { $case: "hit", value: entry }, status: "HIT" };
  }
  return { outcome: peek ? undefined : { $case: "fillToken", value: fillToken(place) }, status: "MISS" };
}

/** Null when the bytes are no entry: another version wrote them, or the store damaged them. */
function readEntry(stored: Buffer): Entry | null {
  try {
    return Entry.decode(stored);
  } catch {
    return null;
  }
}
