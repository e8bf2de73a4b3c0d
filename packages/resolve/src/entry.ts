import type { Sealed } from "@unigate/contracts";
import type { Resolution, ResourceRef } from "./types.ts";

/** A known thing and how sure the cache is of it. */
export interface Entry extends Resolution<unknown> {
  readonly key: string;
  readonly ref: ResourceRef;
  readonly value: unknown;
  readonly sealed: Sealed | undefined;
  readonly version: string;
  readonly subjects: readonly string[];
  /** How long it may be used without word from control, ms. */
  readonly maxStaleMs: number;
  /** Unix ms of control's last answer. */
  fetchedAt: number;
  /** Unix ms until which it needs no refresh; 0 once it was marked stale. */
  freshUntil: number;
  /** Unix ms at which a change marked it stale; Infinity = not marked. */
  staleSince: number;
}

/** Says that the thing may have changed: it is asked for before it is used again. */
export function markStale(entry: Entry, now: number): void {
  entry.freshUntil = 0;
  if (entry.staleSince === Number.POSITIVE_INFINITY) entry.staleSince = now;
}

/** Says that the thing was just confirmed. */
export function markFresh(entry: Entry, now: number, freshForMs: number): void {
  entry.fetchedAt = now;
  entry.freshUntil = now + freshForMs;
  entry.staleSince = Number.POSITIVE_INFINITY;
}
