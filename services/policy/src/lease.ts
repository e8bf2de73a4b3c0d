const DEFAULT_LEASE_MS = 60_000;
const MAX_LEASE_MS = 3_600_000;

/** How long a reservation is kept, of what the caller asked, ms; 0 = 60 s. */
export function leaseOf(askedMs: number): number {
  return Math.min(askedMs === 0 ? DEFAULT_LEASE_MS : askedMs, MAX_LEASE_MS);
}
