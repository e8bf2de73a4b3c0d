import type { ApiDeps } from "../asked.ts";
import { organisationIds } from "../place.ts";
import { nextRow, write } from "../write.ts";
import { keyOf } from "./key-rights.ts";

/**
 * Makes the former texts of rotated keys unknown once their transition is over. Whoever else did it first is right too:
 * a write that does not succeed is tried again at the next look. Gives how many it ended.
 */
export async function endTransitions(
  api: Pick<ApiDeps, "saved" | "snapshot" | "clock">,
  failed: (reason: unknown) => void,
): Promise<number> {
  const now = api.clock.now();
  const over = organisationIds(api)
    .flatMap((organisationId) => api.saved.list("api_key", organisationId))
    .filter(({ details, keyHashes }) => keyHashes.length > 1 && Number(details["transition_ends_at"]) <= now);
  let ended = 0;
  for (const row of over) {
    const { transition_ends_at: _, ...details } = row.details;
    try {
      await write(api, [{ put: nextRow({ api }, row, { details, keyHashes: [keyOf(row).key_sha256] }) }]);
      ended += 1;
    } catch (reason) {
      failed(reason);
    }
  }
  return ended;
}
