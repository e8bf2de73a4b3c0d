const DAY_MS = 86_400_000;
/** A certificate that lives shorter than eight weeks is warned of later: in its last quarter. */
const WARNING_MS = 14 * DAY_MS;
const WARNING_SHARE = 0.25;

/** When a certificate is valid. */
export interface Lifetime {
  readonly validFrom: Date;
  readonly validTo: Date;
}

/** "soon" 14 days before its end, or in the last quarter of a short life. */
export function expiryOf({ validFrom, validTo }: Lifetime, now: number): "good" | "soon" | "expired" {
  const end = validTo.getTime();
  if (now >= end) return "expired";
  return now >= end - Math.min(WARNING_MS, (end - validFrom.getTime()) * WARNING_SHARE) ? "soon" : "good";
}
