/** What an amount counts. Requests are taken as they stand; tokens and cost (micro-USD) are corrected when settled. */
export type Measure = "requests" | "tokens" | "cost";

/** An amount to take from a limit. One call names a (limit, bucket, window) at most once. */
export interface Take {
  /** Stable id of the limit within its organisation; another window length is another id. */
  readonly limitId: string;
  /** Whose share of the limit; "" = everybody's. */
  readonly bucket: string;
  readonly measure: Measure;
  /** Length in ms, aligned to UTC minutes, hours, days and Mondays; null = concurrency: held until settled or lost. */
  readonly windowMs: number | null;
  /** 0 = blocked. */
  readonly limit: number;
  readonly amount: number;
}

export interface ReserveCall {
  readonly organisationId: string;
  /** Chosen by the caller, unique in the organisation. */
  readonly reservationId: string;
  /** 0 for the first target of a request. */
  readonly attempt: number;
  /** After this the reservation is lost: its estimates stay charged, its concurrency is freed. */
  readonly leaseMs: number;
  /** Takes of the whole request; null = not asked. Asked once a reservation. */
  readonly request: readonly Take[] | null;
  /** Takes of this attempt's target; null = not asked. */
  readonly target: readonly Take[] | null;
}

export type PeekCall = Pick<ReserveCall, "organisationId" | "request" | "target">;

/** State of one limit after the call. */
export interface Left {
  readonly left: number;
  /** Unix ms; 0 = never by itself (concurrency). */
  readonly resetsAt: number;
}

/** Outcome for one scope: all of its takes were taken, or none. */
export interface ScopeResult {
  readonly allowed: boolean;
  /** Index of the refusing take that stays shut the longest; null when allowed. */
  readonly refusedAt: number | null;
  /** Until that take's window ends; for concurrency a guess of one second; 0 when allowed. */
  readonly retryAfterMs: number;
  /** In the order of the takes. */
  readonly remaining: readonly Left[];
}

/** A scope that was not asked, or not tried because the request's was refused, is null. */
export interface ReserveResult {
  readonly request: ScopeResult | null;
  readonly target: ScopeResult | null;
}

export interface SettleCall {
  readonly organisationId: string;
  readonly reservationId: string;
  readonly attempt: number;
  /** What the attempt really used; null = unknown, the estimate stays. */
  readonly tokens: number | null;
  readonly costMicro: number | null;
  /** Gives back all that the request scope took. */
  readonly refundRequest: boolean;
  /** Gives back all that this attempt's target scope took. */
  readonly refundTarget: boolean;
  /** No further attempt follows. */
  readonly last: boolean;
}

export interface RenewCall {
  readonly organisationId: string;
  readonly reservationIds: readonly string[];
  /** Each lease lasts at least this long from now. */
  readonly leaseMs: number;
}

/**
 * Exact limits over fixed windows (mesh 7). A refused call counts nowhere. Rejects only when the store cannot be
 * reached or is full (`CountersFullError`).
 */
export interface Counters {
  /**
   * Atomic. The same reservation and attempt again takes nothing more and is allowed again; a scope that was refused is
   * tested again.
   */
  reserve(call: ReserveCall): Promise<ReserveResult>;
  /** What a new reservation would be told, but that nothing is taken, and that both scopes are tested whatever comes of the first. */
  peek(call: PeekCall): Promise<ReserveResult>;
  /**
   * Corrects the windows in which was reserved. Once for each reservation and attempt, in any order; of a lost or
   * finished reservation: nothing.
   */
  settle(call: SettleCall): Promise<void>;
  /** Prolongs leases. Gives the ids that run no more, in the order of the call: a lost reservation stays lost. */
  renew(call: RenewCall): Promise<readonly string[]>;
}

/** More live windows and reservations than the store may hold. */
export class CountersFullError extends Error {
  override readonly name = "CountersFullError";

  constructor(limit: number) {
    super(`more than ${limit} live counters and reservations`);
  }
}
