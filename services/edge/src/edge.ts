import type { AddressInfo } from "node:net";
import { listen } from "@unigate/runtime";
import { createBackground } from "./background.ts";
import { createContentTimes } from "./content-times.ts";
import type { EdgeDeps, EdgeParts } from "./deps.ts";
import { createEdgeMetrics } from "./edge-metrics.ts";
import { createHedgeBudgets } from "./hedge-budgets.ts";
import { createLeases } from "./leases.ts";
import { createOutcomes } from "./outcomes.ts";
import { createPatience } from "./patience.ts";
import { createBodyBudget } from "./read-body.ts";
import { createHttpServer, type Inflight } from "./server.ts";
import { createSettlements } from "./settlements.ts";
import { createUnderWay } from "./under-way.ts";

const IDLE_MS = 50;
/** What runs beside requests may take this much longer than the last of them, ms. */
const BACKGROUND_MS = 5_000;

/** A running edge. */
export interface Edge {
  readonly port: number;
  /** Stops accepting; running requests go on, each answer closing its connection. */
  stopAccepting(): void;
  /** Waits for running requests at most `ms`, then ends them with an in-band error; settles what is left. */
  drain(ms: number): Promise<void>;
  /** Ends running requests now. */
  hurry(): void;
}

/** Starts the HTTP front on `host:port` (0 = any free port). */
export async function startEdge(parts: EdgeParts, host: string, port: number, version: string): Promise<Edge> {
  const budget = createBodyBudget(parts.limits.inflightBytes);
  const settlements = createSettlements(parts.policy, parts.log);
  const leases = createLeases(parts.policy, parts.log, parts.clock, parts.limits.maxRequestMs);
  const underWay = createUnderWay(() => parts.clock.now());
  const outcomes = createOutcomes(parts.router, parts.log, underWay);
  const background = createBackground(parts.log);
  let requests: Inflight | null = null;
  const metrics = createEdgeMetrics(parts.processMetrics, {
    inflight: () => requests?.count ?? 0,
    bodyBytes: () => budget.used,
    settlementsDropped: () => settlements.dropped,
    leasesHeld: () => leases.held,
    leasesLost: () => leases.lost,
    outcomesDropped: () => outcomes.dropped,
    backgroundDropped: () => background.dropped,
  });
  const deps: EdgeDeps = {
    ...parts,
    metrics,
    settlements,
    leases,
    outcomes,
    underWay,
    patience: createPatience(parts.clock),
    background,
    hedgeBudgets: createHedgeBudgets(),
    contentTimes: createContentTimes(),
  };
  const { server, inflight } = createHttpServer(deps, budget, version);
  requests = inflight;
  await listen(server, host, port);
  let closed: Promise<void> | null = null;

  function stopAccepting(): void {
    inflight.closing = true;
    closed ??= new Promise((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
  }

  return {
    port: (server.address() as AddressInfo).port,
    stopAccepting,
    hurry: () => inflight.cancelAll(),
    async drain(ms) {
      stopAccepting();
      const patience = setTimeout(() => inflight.cancelAll(), ms);
      const force = setTimeout(() => server.closeAllConnections(), ms + 3_000);
      // Answers that began before the end promised to keep their connection; it is closed once it is idle.
      const idle = setInterval(() => server.closeIdleConnections(), IDLE_MS);
      await closed;
      clearInterval(idle);
      clearTimeout(patience);
      clearTimeout(force);
      await background.finish(BACKGROUND_MS);
      leases.stop();
      await settlements.flush();
      underWay.stop();
      await outcomes.flush();
    },
  };
}
