import type { Settings } from "@unigate/runtime";
import type { OwnedDataDir } from "./data-dir.ts";
import { type ServiceName, serviceNames } from "./module.ts";

const DEFAULT_METRICS_PORT = 9090;

/** What one process does of all that was started together: everything, or a share of it when there are workers. */
export interface Part {
  /** Services to run in this process, what is needed first. */
  readonly services: readonly ServiceName[];
  /** Those and the services of the processes beside this one that were started with it. */
  readonly names: readonly ServiceName[];
  /** The services of this process and of those beside it are all there are. */
  readonly isWhole: boolean;
  /** Where its services are served over gRPC. */
  readonly listen: readonly string[];
  /** The one of these that workers reach their primary by, "unix:/path"; null without workers. */
  readonly ownerSocket: string | null;
  /** Null = health and metrics have no port of their own. */
  readonly metricsPort: number | null;
  /** Null = it belongs to another process. */
  readonly dataDir: OwnedDataDir | null;
}

/** Everything in one process. `names` in start order. */
export function wholePart(settings: Settings, names: readonly ServiceName[], dataDir: OwnedDataDir | null): Part {
  const isWhole = names.length === serviceNames.length;
  return {
    services: names,
    names,
    isWhole,
    listen: isWhole ? [] : [settings.grpcListen],
    ownerSocket: null,
    metricsPort: isWhole ? settings.metricsPort : (settings.metricsPort ?? DEFAULT_METRICS_PORT),
    dataDir,
  };
}

/** How the process calls itself in its log. */
export function logNameOf(names: readonly ServiceName[]): string {
  return names.length === serviceNames.length ? "unigate" : names.join("+");
}
