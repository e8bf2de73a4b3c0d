import type { ServiceDefinition, ServicePort } from "@unigate/rpc";
import type { Health, Logger, Metrics, Settings } from "@unigate/runtime";
import type { Sealer } from "@unigate/secrets";
import type { SqlEngine } from "@unigate/sql";

export const serviceNames = ["control", "logging", "router", "cache", "policy", "guardrail", "connector", "edge"] as const;
export type ServiceName = (typeof serviceNames)[number];

/** What a module may use to start its service. */
export interface Host {
  readonly settings: Settings;
  readonly version: string;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly health: Health;
  /** The one database of this process, which closes it after its services; null = none is named. */
  readonly database: SqlEngine | null;
  /** The port of another service, wherever it runs. */
  connect<D extends ServiceDefinition>(name: ServiceName, definition: D): ServicePort<D>;
  /** Seals and opens provider secrets; asked for only by control, connector and guardrail. */
  sealer(): Promise<Sealer>;
}

/** A service that runs in this process. */
export interface RunningService {
  /** Its port, for local callers and the gRPC server; null for the edge, which speaks HTTP. */
  readonly implementation: object | null;
  /** Stops accepting new work; running work goes on. */
  stopAccepting?(): void;
  /** Waits for running work at most `ms`, and then at most `handOverMs` for what it left to reach others. */
  drain?(ms: number, handOverMs: number): Promise<void>;
  /** Ends running work now (a second SIGTERM). */
  hurry?(): void;
  stop?(): Promise<void>;
  /** What the start message tells. */
  readonly facts?: StartFacts;
}

/** What people want to know after the start. */
export interface StartFacts {
  readonly httpPort?: number;
  /** Keys made at this start, shown once. */
  readonly adminKey?: string;
  readonly workspaceKey?: string;
}

/** How one service is put together from settings. */
export interface ServiceModule {
  /** What it serves over gRPC; null = nothing. */
  readonly definition: ServiceDefinition | null;
  /** Services it calls: here, or at an address. */
  readonly needs: readonly ServiceName[];
  start(host: Host): Promise<RunningService>;
}
