import type { PolicyMatch, RateLimit } from "@unigate/core";
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
  readonly owner: "api_key" | "provider" | "policy";
  /** The name people know the owner by. */
  readonly ownerName: string;
  readonly type: RateLimit["type"];
  readonly unit: RateLimit["unit"];
  /** Whether nothing may pass that is not counted. */
  readonly closed: boolean;
  readonly take: Take;
}

/** What one attempt is believed to use. */
export interface TokenEstimate {
  readonly tokens: number;
  /** Whether the request itself bounds it; else it is a guess, and no limit is taken for smaller than the guess. */
  readonly bounded: boolean;
}

/**
 * The takes of a key's or a provider's limits: one request of a limit of requests or concurrency, the estimate of a
 * tokens limit. Of two limits of one type and unit the lower one counts: they would share a counter.
 */
export function ownLimits(
  owner: "api_key" | "provider",
  ownerId: string,
  limits: readonly RateLimit[],
  estimate: TokenEstimate,
): AppliedLimit[] {
  const applied = new Map<string, AppliedLimit>();
  for (const { type, unit, value } of limits) {
    const limitId = idOf(owner, ownerId, type, unit);
    const known = applied.get(limitId);
    if (known !== undefined && known.take.limit <= value) continue;
    applied.set(limitId, { owner, ownerName: ownerId, type, unit, closed: false, take: takeOf(limitId, "", type, unit, value, estimate) });
  }
  return [...applied.values()];
}

/** The take of a policy that counts the request. */
export function policyLimit({ policy, bucket }: PolicyMatch, estimate: TokenEstimate): AppliedLimit {
  const { id, name, type, unit, value } = policy;
  const take = takeOf(idOf("policy", id, type, unit), bucket, type, unit, value, estimate);
  return { owner: "policy", ownerName: name ?? id, type, unit, closed: policy.on_store_loss === "closed", take };
}

function idOf(owner: AppliedLimit["owner"], ownerId: string, type: RateLimit["type"], unit: RateLimit["unit"]): string {
  return `${owner}/${ownerId}/${type}${unit === null ? "" : `/${unit}`}`;
}

function takeOf(
  limitId: string,
  bucket: string,
  type: RateLimit["type"],
  unit: RateLimit["unit"],
  limit: number,
  estimate: TokenEstimate,
): Take {
  const windowMs = unit === null ? null : WINDOW_MS[unit];
  if (type !== "tokens") return { limitId, bucket, measure: "requests", windowMs, limit, amount: 1 };
  const tokens = estimate.bounded ? estimate.tokens : Math.min(estimate.tokens, limit);
  return { limitId, bucket, measure: "tokens", windowMs, limit, amount: Math.max(1, tokens) };
}
