import type { Ref, Resolved } from "@unigate/contracts";
import { backgroundCall, boundCall } from "@unigate/core";
import type { Entry } from "./entry.ts";
import { subjectsOf } from "./names.ts";
import type { ResolverDeps, ResolverLimits, ResourceRef } from "./types.ts";

/** Asks control, each ref once at a time, and never for more than a bounded number of refs at once. */
export interface Fetcher {
  /** What `keep` made of control's answer. `urgent` goes before what is only refreshed. Rejects when control does not answer. */
  fetch(key: string, ref: ResourceRef, urgent: boolean): Promise<Entry | null>;
  /** A change came: an answer on its way may be older, so it is asked for again. */
  markDirty(subjects: readonly string[]): void;
  markAllDirty(): void;
  inFlight(): number;
  queued(): number;
}

interface Flight {
  readonly key: string;
  readonly ref: ResourceRef;
  readonly subjects: readonly string[];
  readonly promise: Promise<Entry | null>;
  settle(entry: Entry | null): void;
  fail(reason: unknown): void;
  state: "waiting" | "asked" | "over";
  urgent: boolean;
  /** A change came while control was asked. */
  dirty: boolean;
  /** How often it was asked again because of a change. */
  repeats: number;
}

const MAX_REPEATS = 3;
const NO_HASH = Buffer.alloc(0);

/** What becomes of answers. */
export interface FetchEvents {
  /** An answer came; `outdated` when a change came after it. Called once an answer, however many wait for it. */
  keep(key: string, ref: ResourceRef, answer: Resolved, outdated: boolean): Entry | null;
  /** Control did not answer. */
  failed(): void;
}

export function createFetcher(control: ResolverDeps["control"], limits: ResolverLimits, events: FetchEvents): Fetcher {
  const flights = new Map<string, Flight>();
  const urgentQueue: Flight[] = [];
  const idleQueue: Flight[] = [];
  let asked = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    // After this tick, so that refs asked for together travel together.
    queueMicrotask(pump);
  }

  function pump(): void {
    scheduled = false;
    const batch: Flight[] = [];
    while (asked + batch.length < limits.inFlight) {
      const flight = urgentQueue.shift() ?? idleQueue.shift();
      if (flight === undefined) break;
      if (flight.state !== "waiting") continue;
      flight.state = "asked";
      batch.push(flight);
    }
    if (batch.length > 0) void ask(batch);
  }

  /** Never rejects. */
  async function ask(batch: readonly Flight[]): Promise<void> {
    asked += batch.length;
    const bounded = boundCall(backgroundCall(), limits.answerMs);
    try {
      const reply = await control.resolve({ refs: batch.map((flight) => messageOf(flight.ref)) }, bounded.call);
      asked -= batch.length;
      batch.forEach((flight, index) => land(flight, reply.items[index]));
    } catch (reason) {
      asked -= batch.length;
      events.failed();
      for (const flight of batch) fail(flight, reason);
    } finally {
      bounded.done();
      schedule();
    }
  }

  function land(flight: Flight, answer: Resolved | undefined): void {
    if (answer === undefined) return fail(flight, new Error("control answered fewer refs than it was asked for"));
    if (flight.dirty && flight.repeats < MAX_REPEATS) {
      flight.dirty = false;
      flight.repeats += 1;
      flight.state = "waiting";
      urgentQueue.push(flight);
      return;
    }
    let entry: Entry | null;
    try {
      entry = events.keep(flight.key, flight.ref, answer, flight.dirty);
    } catch (reason) {
      return fail(flight, reason);
    }
    end(flight);
    flight.settle(entry);
  }

  function fail(flight: Flight, reason: unknown): void {
    end(flight);
    flight.fail(reason);
  }

  function end(flight: Flight): void {
    flight.state = "over";
    flights.delete(flight.key);
  }

  return {
    fetch(key, ref, urgent) {
      const known = flights.get(key);
      if (known !== undefined) {
        if (urgent && !known.urgent && known.state === "waiting") {
          // It stands in the other queue as well, where it will be found asked.
          known.urgent = true;
          urgentQueue.push(known);
        }
        return known.promise;
      }
      if (flights.size - asked >= limits.queue) return Promise.reject(new Error("too many refs wait for control"));
      const flight = newFlight(key, ref, urgent);
      flights.set(key, flight);
      (urgent ? urgentQueue : idleQueue).push(flight);
      schedule();
      return flight.promise;
    },
    markDirty(subjects) {
      for (const flight of flights.values())
        if (flight.subjects.some((subject) => subjects.includes(subject))) flight.dirty = flight.state === "asked";
    },
    markAllDirty() {
      for (const flight of flights.values()) flight.dirty = flight.state === "asked";
    },
    inFlight: () => asked,
    queued: () => flights.size - asked,
  };
}

function newFlight(key: string, ref: ResourceRef, urgent: boolean): Flight {
  const { promise, settle, fail } = deferred();
  // A refresh in the background has nobody who waits for it.
  promise.catch(() => {});
  return { key, ref, subjects: subjectsOf(ref), promise, settle, fail, state: "waiting", urgent, dirty: false, repeats: 0 };
}

function deferred(): Pick<Flight, "promise" | "settle" | "fail"> {
  let settle: Flight["settle"] = () => {};
  let fail: Flight["fail"] = () => {};
  const promise = new Promise<Entry | null>((resolve, reject) => {
    settle = resolve;
    fail = reject;
  });
  return { promise, settle, fail };
}

function messageOf(ref: ResourceRef): Ref {
  return { kind: ref.kind, id: ref.id, tenant: ref.tenant, keyHash: ref.keyHash ?? NO_HASH, version: "" };
}
