import type { RateLimit } from "@unigate/core";
import type { Take } from "@unigate/storage";

/** Window of each unit in ms (behaviour 10.1). */
const WINDOW_MS: Readonly<Record<NonNullable<RateLimit["unit"]>, number>> = {
  rps: 1_000,
  rpm: 60_000,
  rph: 3_600_000,
  rpd: 86_400_000,
  rpw: 604_800_000,
};

/** A limit and what this request takes from it. `take.limitId` is the policy id that the client is told. */
export interface AppliedLimit {
  readonly unit: RateLimit["unit"];
  readonly take: Take;
}

/**
 * The takes of one owner's limits: one request of a requests limit, the estimate (at least one token) of a tokens
 * limit. Of two limits of one type and unit the lower one counts: they would share a counter.
 */
export function appliedLimits(
  owner: "api_key" | "provider",
  ownerId: string,
  limits: readonly RateLimit[],
  tokens: number,
): AppliedLimit[] {
  const applied = new Map<string, AppliedLimit>();
  for (const { type, unit, value } of limits) {
    const limitId = `${owner}/${ownerId}/${type}${unit === null ? "" : `/${unit}`}`;
    const known = applied.get(limitId);
    if (known !== undefined && known.take.limit <= value) continue;
    const measure = type === "tokens" ? "tokens" : "requests";
    const amount = measure === "tokens" ? Math.max(1, tokens) : 1;
    applied.set(limitId, {
      unit,
      take: { limitId, bucket: "", measure, windowMs: unit === null ? null : WINDOW_MS[unit], limit: value, amount },
    });
  }
  return [...applied.values()];
}
