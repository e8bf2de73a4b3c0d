import { type Clock, GatewayError } from "@unigate/core";

const MINUTE_MS = 60_000;

/** Counts a request of a key. Throws rate_limited, with the time until the next minute, when the key has had its share of this one. */
export type RequestBound = (keyId: string) => void;

/**
 * At most `perMinute` requests of one key in each minute of the clock; 0 = no bound. Counted in the memory of this
 * process, which forgets all counts when the minute ends.
 */
export function createRequestBound(perMinute: number, clock: Clock): RequestBound {
  let minute = 0;
  const counts = new Map<string, number>();
  return (keyId) => {
    if (perMinute === 0) return;
    const now = clock.now();
    const current = Math.floor(now / MINUTE_MS);
    if (current !== minute) counts.clear();
    minute = current;
    const count = (counts.get(keyId) ?? 0) + 1;
    counts.set(keyId, count);
    if (count <= perMinute) return;
    throw new GatewayError(
      "rate_limited",
      `The API key has sent ${perMinute} requests to the management API within a minute, which is the most (UNIGATE_MANAGEMENT_RPM).`,
      { retryAfterMs: (current + 1) * MINUTE_MS - now },
    );
  };
}
