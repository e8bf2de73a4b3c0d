import { type Empty, Entry, type StoreRequest } from "@unigate/contracts";
import { RpcError } from "@unigate/rpc";
import type { CacheDeps } from "./deps.ts";
import { whileLost } from "./lost-store.ts";
import { maxAgeSeconds } from "./max-age.ts";
import { placeOfToken, storeKey } from "./place.ts";

/** Keeps an answer where its token says, stamped with the time of now. One that is too big is left out, and so is one that a lost store
 * does not take. */
export async function store(deps: CacheDeps, request: StoreRequest): Promise<Empty> {
  const { tenant, entry, fillToken } = request;
  if (tenant === undefined || tenant.organisationId === "" || entry === undefined) {
    throw new RpcError("INVALID_ARGUMENT", "Store needs a tenant and an entry.");
  }
  const place = placeOfToken(tenant.organisationId, fillToken);
  if (place === null) throw new RpcError("INVALID_ARGUMENT", "The fill token is not one of this organisation.");
  const bytes = Entry.encode({ ...entry, storedAt: deps.clock.now() }).finish();
  const value = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  await whileLost(deps.store.set(storeKey(place), value, 1_000 * maxAgeSeconds(request.maxAgeS)), false);
  return {};
}
