import type { RouterPort } from "@unigate/contracts";
import type { Clock } from "@unigate/core";
import type { Breakers, Measurements } from "@unigate/storage";
import { type BreakerStatistics, createLiveBreakers } from "./breakers/live-breakers.ts";
import { createCompiledConfigs } from "./compiled-configs.ts";
import { listBreakers } from "./list-breakers.ts";
import { createLiveMeasurements } from "./measurements/live-measurements.ts";
import { plan } from "./plan.ts";
import { report } from "./report.ts";

/** What the router is given. */
export interface RouterDeps {
  readonly clock: Clock;
  /** What replicas know of each other's targets. */
  readonly breakers: Breakers;
  readonly measurements: Measurements;
  /** A number in [0, 1). */
  draw(): number;
}

export interface RouterStatistics extends BreakerStatistics {
  /** Reported outcomes of configs or targets that are not known here, or beyond what one report may hold. */
  readonly unknown: number;
}

/** Plans attempts, from memory alone. */
export interface RouterService {
  readonly port: RouterPort;
  /** Exchanges what is new with the other replicas; to be called each `TICK_MS`. Rejects only for a fault. */
  tick(): Promise<void>;
  statistics(): RouterStatistics;
}

/** With reports each 100 ms, what one replica learns the others know within half a second. */
export const TICK_MS = 250;

export function createRouterService({ clock, draw, ...stores }: RouterDeps): RouterService {
  const configs = createCompiledConfigs();
  const breakers = createLiveBreakers(stores.breakers, clock);
  const measurements = createLiveMeasurements(stores.measurements, clock);
  let unknown = 0;
  const drop = (count: number): void => {
    unknown += count;
  };
  return {
    port: {
      plan: async (request) => plan({ clock, configs, breakers, measurements, draw }, request),
      async report(request) {
        report({ configs, breakers, measurements, drop }, request);
        return {};
      },
      breakers: (request) => listBreakers(breakers, clock, request),
    },
    async tick() {
      await Promise.all([breakers.tick(), measurements.tick()]);
    },
    statistics: () => ({ ...breakers.statistics(), unknown }),
  };
}
