import type { CachePort, ConnectorPort, ControlPort, GuardrailPort, LoggingPort, PolicyPort, RouterPort } from "@unigate/contracts";
import type { Clock } from "@unigate/core";
import type { Prices } from "@unigate/prices";
import type { Resolver } from "@unigate/resolve";
import type { Health, Logger, Metrics } from "@unigate/runtime";
import type { Spool } from "@unigate/spool";
import type { Background } from "./background.ts";
import type { ContentTimes } from "./content-times.ts";
import type { EdgeMetrics } from "./edge-metrics.ts";
import type { HedgeBudgets } from "./hedge-budgets.ts";
import type { Leases } from "./leases.ts";
import type { Outcomes } from "./outcomes.ts";
import type { Patience } from "./patience.ts";
import type { Settlements } from "./settlements.ts";
import type { UnderWay } from "./under-way.ts";

/** What the edge is told by the settings. */
export interface EdgeLimits {
  /** Largest JSON body, bytes. */
  readonly bodyLimit: number;
  /** Largest streamed upload, bytes. */
  readonly uploadLimit: number;
  /** Bodies held in memory at once, bytes. */
  readonly inflightBytes: number;
  /** Requests at once. */
  readonly maxInflight: number;
  readonly maxRequestMs: number;
  /** Silence after which a stream gets a comment, ms. */
  readonly heartbeatMs: number;
  /** How long a request waits for policy to count it before it passes uncounted, ms. */
  readonly reserveMs: number;
  /** The part of the traces that begin here whose spans are exported, 0 to 1. */
  readonly traceSample: number;
  readonly corsOrigins: readonly string[];
}

/** What the host gives the edge. It never asks whether a port is local or remote. */
export interface EdgeParts {
  readonly control: ControlPort;
  readonly router: RouterPort;
  readonly connector: ConnectorPort;
  readonly cache: CachePort;
  readonly policy: PolicyPort;
  readonly guardrail: GuardrailPort;
  readonly logging: LoggingPort;
  readonly resolver: Resolver;
  readonly spool: Spool;
  readonly prices: Prices;
  readonly limits: EdgeLimits;
  readonly clock: Clock;
  readonly log: Logger;
  readonly processMetrics: Metrics;
  readonly health: Health;
  /** A number in [0, 1) for load balancing. */
  draw(): number;
}

/** Everything that a request uses. */
export interface EdgeDeps extends EdgeParts {
  readonly metrics: EdgeMetrics;
  readonly settlements: Settlements;
  readonly leases: Leases;
  readonly outcomes: Outcomes;
  readonly underWay: UnderWay;
  /** With policy. */
  readonly patience: Patience;
  readonly background: Background;
  readonly hedgeBudgets: HedgeBudgets;
  readonly contentTimes: ContentTimes;
}
