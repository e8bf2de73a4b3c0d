import { type Clock, systemClock } from "@unigate/core";
import { LRUCache } from "lru-cache";
import { organisationKey } from "../counters/counter-key.ts";
import { averaged, MEASUREMENT_MS, type Measurement, type Measurements, REPORTER_MS } from "./port.ts";

const MOST_TARGETS = 100_000;

interface Measured {
  latencyMs: number | null;
  sampledAt: number;
  touchedAt: number;
  readonly reporters: Map<string, { readonly count: number; readonly at: number; readonly until: number }>;
}

/** Measurements of this process. */
export function createMemoryMeasurements(options: { readonly clock?: Clock } = {}): Measurements {
  const { clock = systemClock } = options;
  // `max` would take the room of all of them now.
  const targets = new LRUCache<string, Measured>({ maxSize: MOST_TARGETS, sizeCalculation: () => 1 });

  function touched(organisationId: string, target: string, now: number): Measured {
    const key = organisationKey(organisationId, target);
    let measured = targets.get(key);
    if (measured === undefined || now - measured.touchedAt >= MEASUREMENT_MS)
      targets.set(key, (measured = { latencyMs: null, sampledAt: 0, touchedAt: now, reporters: new Map() }));
    measured.touchedAt = now;
    return measured;
  }

  function told(organisationId: string, target: string, now: number): Measurement {
    const measured = targets.get(organisationKey(organisationId, target));
    if (measured === undefined || now - measured.touchedAt >= MEASUREMENT_MS) return { latencyMs: null, ageMs: 0, inFlight: 0 };
    let inFlight = 0;
    for (const [reporter, { count, until }] of measured.reporters) {
      if (now < until) inFlight += count;
      else measured.reporters.delete(reporter);
    }
    return { latencyMs: measured.latencyMs, ageMs: measured.latencyMs === null ? 0 : now - measured.sampledAt, inFlight };
  }

  return {
    async exchange({ organisationId, latencies, inFlight, asked }) {
      const now = clock.now();
      for (const { target, count, meanMs } of latencies) {
        const measured = touched(organisationId, target, now);
        measured.latencyMs = averaged(measured.latencyMs, count, meanMs);
        measured.sampledAt = now;
      }
      for (const { target, reporter, count, at } of inFlight) {
        const { reporters } = touched(organisationId, target, now);
        const before = reporters.get(reporter);
        if (before === undefined || before.at <= at || before.until <= now)
          reporters.set(reporter, { count, at, until: now + REPORTER_MS });
      }
      return asked.map((target) => told(organisationId, target, now));
    },
  };
}
