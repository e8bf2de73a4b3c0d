import type { Resolved } from "@unigate/contracts";
import { type Call, type CancelReason, GatewayError, isObject, jsonOf } from "@unigate/core";
import { type Entry, markFresh, markStale } from "./entry.ts";
import { createFetcher } from "./fetcher.ts";
import { keyOf, keySubject, subjectsOf } from "./names.ts";
import { createStore } from "./store.ts";
import { DEFAULT_LIMITS, type Resolution, type Resolver, type ResolverDeps, type ResolverLimits, type ResourceRef } from "./types.ts";
import { createWatcher } from "./watcher.ts";

/** How much earlier than its soft age a thing may be refreshed, so that not all come at once. */
const JITTER = 0.2;
/** While control does not answer it is tried this often at most for what can still be served, ms. */
const PROBE_EVERY_MS = 1_000;

/**
 * The cache that every service keeps over control: changed or revoked within a second while Watch is up, within the
 * soft age while only Resolve answers, and at most `identityMaxStaleMs` old while control is down; then an error,
 * never an unchecked pass.
 */
export function createResolver(deps: ResolverDeps): Resolver {
  const limits: ResolverLimits = { ...DEFAULT_LIMITS, ...deps.limits };
  const { clock, control } = deps;
  const random = deps.random ?? Math.random;
  const store = createStore(limits.entries, limits.missingEntries);
  const fetcher = createFetcher(control, limits, {
    keep,
    failed() {
      controlDown = true;
    },
  });
  let blind = true;
  let blindSince = Number.NEGATIVE_INFINITY;
  let controlDown = false;
  let probeAt = 0;
  let isReady = false;
  let tellReady: () => void = () => {};
  const ready = new Promise<void>((resolve) => {
    tellReady = resolve;
  });

  const watcher = createWatcher(control, limits, clock, random, {
    changed(ref) {
      const subjects = subjectsOf(ref);
      store.markStale(subjects, clock.now());
      fetcher.markDirty(subjects);
    },
    reset() {
      store.markAllStale(clock.now());
      fetcher.markAllDirty();
    },
    seeing() {
      answered();
      if (!blind) return;
      blind = false;
      deps.onBlind?.(false);
    },
    blind(since) {
      if (blind) return;
      blind = true;
      blindSince = since;
      deps.onBlind?.(true);
    },
  });

  function answered(): void {
    if (isReady) return;
    isReady = true;
    tellReady();
  }

  /** Since when nobody can vouch for the entry; Infinity while the watch does. */
  function unsureSince(entry: Entry): number {
    if (entry.staleSince !== Number.POSITIVE_INFINITY) return entry.staleSince;
    return blind ? Math.max(entry.fetchedAt, blindSince) : Number.POSITIVE_INFINITY;
  }

  function mayServe(entry: Entry, now: number): boolean {
    return now - unsureSince(entry) < entry.maxStaleMs;
  }

  /** Whether control must be asked before the entry is used: it was changed, or is old and nobody watched it. */
  function mustAsk(entry: Entry, now: number): boolean {
    if (entry.staleSince !== Number.POSITIVE_INFINITY) return true;
    return blind && (now - entry.fetchedAt >= limits.softAgeMs || !mayServe(entry, now));
  }

  function keep(key: string, ref: ResourceRef, answer: Resolved, outdated: boolean): Entry | null {
    controlDown = false;
    answered();
    const now = clock.now();
    if (answer.missing) {
      if (outdated) store.remove(key);
      else store.setMissing(key, ref, now + limits.missingAgeMs);
      return null;
    }
    const freshFor = limits.softAgeMs * (1 - JITTER * random());
    const known = store.get(key);
    const same = known !== undefined && known.version === answer.version && answer.version !== "";
    const entry = same ? known : newEntry(key, ref, answer, isIdentity(ref) ? limits.identityMaxStaleMs : limits.otherMaxStaleMs);
    markFresh(entry, now, freshFor);
    if (outdated) markStale(entry, now);
    if (!same) store.put(entry);
    return entry;
  }

  function refresh(entry: Entry): void {
    // A refresh that fails leaves the entry as it is.
    fetcher.fetch(entry.key, entry.ref, false).catch(() => {});
  }

  function refreshNowAndThen(entry: Entry, now: number): void {
    if (now < probeAt) return;
    probeAt = now + PROBE_EVERY_MS;
    refresh(entry);
  }

  async function ask(key: string, ref: ResourceRef, call: Call): Promise<Entry | null> {
    try {
      return await unlessCancelled(fetcher.fetch(key, ref, true), call);
    } catch (reason) {
      if (reason instanceof GatewayError) throw reason;
      const known = store.get(key);
      if (known !== undefined && mayServe(known, clock.now())) return known;
      throw new GatewayError(isIdentity(ref) ? "identity_unavailable" : "service_unavailable", undefined, { cause: reason });
    }
  }

  return {
    ready,
    isReady: () => isReady,
    peek<T>(ref: ResourceRef) {
      const key = keyOf(ref);
      const now = clock.now();
      const entry = store.get(key);
      if (entry === undefined) return store.isMissing(key, now) ? null : undefined;
      return now < entry.freshUntil && (!blind || mayServe(entry, now)) ? (entry as Resolution<T>) : undefined;
    },
    async resolve<T>(ref: ResourceRef, call: Call) {
      const key = keyOf(ref);
      const now = clock.now();
      const entry = store.get(key);
      if (entry === undefined) return store.isMissing(key, now) ? null : ((await ask(key, ref, call)) as Resolution<T> | null);
      if (mustAsk(entry, now)) {
        if (!controlDown || !mayServe(entry, now)) return (await ask(key, ref, call)) as Resolution<T> | null;
        refreshNowAndThen(entry, now);
      } else if (now >= entry.freshUntil) {
        if (controlDown) refreshNowAndThen(entry, now);
        else refresh(entry);
      }
      return entry as Resolution<T>;
    },
    start: () => watcher.start(),
    stop: () => watcher.stop(),
    stats: () => ({
      blind,
      entries: store.entries(),
      missing: store.missing(),
      inFlight: fetcher.inFlight(),
      queued: fetcher.queued(),
    }),
  };
}

function newEntry(key: string, ref: ResourceRef, answer: Resolved, maxStaleMs: number): Entry {
  const value = jsonOf(answer.json);
  const subjects = subjectsOf(ref);
  if (ref.kind === "api_key" && isObject(value) && typeof value["id"] === "string" && ref.id !== value["id"])
    subjects.push(keySubject(value["id"]));
  return {
    key,
    ref,
    value,
    sealed: answer.sealed,
    version: answer.version,
    subjects,
    maxStaleMs,
    fetchedAt: 0,
    freshUntil: 0,
    staleSince: 0,
  };
}

function isIdentity(ref: ResourceRef): boolean {
  return ref.kind === "api_key" || ref.kind === "workspace" || ref.kind === "organisation";
}

/** The promise's outcome, or a GatewayError as soon as the caller's call is cancelled. */
function unlessCancelled<T>(promise: Promise<T>, call: Call): Promise<T> {
  return new Promise((resolve, reject) => {
    const unlink = call.cancel.onCancel((reason) => reject(cancelled(reason)));
    promise.then(
      (value) => {
        unlink();
        resolve(value);
      },
      (error: unknown) => {
        unlink();
        reject(error);
      },
    );
  });
}

function cancelled(reason: CancelReason): GatewayError {
  if (reason === "deadline") return new GatewayError("request_timeout");
  return new GatewayError(reason === "shutdown" ? "server_shutting_down" : "client_closed");
}
