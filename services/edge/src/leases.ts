import type { PolicyPort } from "@unigate/contracts";
import { backgroundCall, type Clock } from "@unigate/core";
import type { Logger } from "@unigate/runtime";

/** How long policy keeps a reservation that nobody renews, ms. */
export const LEASE_MS = 60_000;
const RENEW_EVERY_MS = 20_000;
/** Reservations in one call. */
const MAX_BATCH = 5_000;
const DEADLINE_MS = 5_000;

/** The reservations of running requests, kept for as long as they run. A process that is killed keeps none. */
export interface Leases {
  begin(organisationId: string, reservationId: string): void;
  end(organisationId: string, reservationId: string): void;
  /** Renews every reservation: one call an organisation. Happens by itself each 20 s. */
  renew(): Promise<void>;
  stop(): void;
  /** Reservations that are kept. */
  readonly held: number;
  /** Reservations that ended while their requests ran: their concurrency was given back too early. */
  readonly lost: number;
}

/** `longestMs` = no request runs longer; a reservation that nobody ended is dropped then. */
export function createLeases(policy: Pick<PolicyPort, "renew">, log: Logger, clock: Clock, longestMs: number): Leases {
  /** By organisation: the reservations and when each has to be over. */
  const running = new Map<string, Map<string, number>>();
  let timer: NodeJS.Timeout | null = null;
  let held = 0;
  let lost = 0;

  function forget(organisationId: string, reservationId: string): boolean {
    const ids = running.get(organisationId);
    if (ids?.delete(reservationId) !== true) return false;
    held -= 1;
    if (ids.size === 0) running.delete(organisationId);
    return true;
  }

  async function renewBatch(organisationId: string, reservationIds: string[]): Promise<void> {
    try {
      const reply = await policy.renew({ organisationId, reservationIds, leaseMs: LEASE_MS }, backgroundCall(Date.now() + DEADLINE_MS));
      // One that was settled meanwhile is none that was lost.
      const ended = reply.lost.filter((id) => forget(organisationId, id)).length;
      lost += ended;
      if (ended > 0) log.warn({ count: ended }, "reservations of running requests were lost; their concurrency was given back too early");
    } catch (error) {
      log.warn({ error: String(error), count: reservationIds.length }, "reservations were not renewed; they are tried again");
    }
  }

  async function renew(): Promise<void> {
    const now = clock.now();
    const batches: Promise<void>[] = [];
    for (const [organisationId, ids] of running) {
      for (const [id, until] of ids) if (until <= now) forget(organisationId, id);
      const left = [...ids.keys()];
      for (let from = 0; from < left.length; from += MAX_BATCH)
        batches.push(renewBatch(organisationId, left.slice(from, from + MAX_BATCH)));
    }
    await Promise.all(batches);
  }

  return {
    begin(organisationId, reservationId) {
      let ids = running.get(organisationId);
      if (ids === undefined) running.set(organisationId, (ids = new Map()));
      if (!ids.has(reservationId)) held += 1;
      ids.set(reservationId, clock.now() + longestMs);
      timer ??= setInterval(() => void renew(), RENEW_EVERY_MS).unref();
    },
    end: (organisationId, reservationId) => void forget(organisationId, reservationId),
    renew,
    stop() {
      if (timer !== null) clearInterval(timer);
      timer = null;
    },
    get held() {
      return held;
    },
    get lost() {
      return lost;
    },
  };
}
