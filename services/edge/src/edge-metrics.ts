import type { Metrics } from "@unigate/runtime";

/** What the edge counts. Labels never hold a user's text. */
export interface EdgeMetrics {
  readonly requests: { inc(labels: { surface: string; class: string }): void };
  readonly inflight: { inc(): void; dec(): void };
}

export function createEdgeMetrics(
  metrics: Metrics,
  gauges: { bodyBytes(): number; settlementsDropped(): number; backgroundDropped(): number },
): EdgeMetrics {
  const bodies = metrics.gauge("unigate_edge_body_bytes", "request bodies held in memory, bytes");
  const settlements = metrics.gauge("unigate_edge_settlements_dropped", "settlements dropped because too many were waiting");
  const background = metrics.gauge("unigate_edge_background_dropped", "asynchronous hooks dropped because too many were waiting");
  const refresh = (): void => {
    bodies.set(gauges.bodyBytes());
    settlements.set(gauges.settlementsDropped());
    background.set(gauges.backgroundDropped());
  };
  setInterval(refresh, 1_000).unref();
  return {
    requests: metrics.counter("unigate_requests_total", "requests answered, by surface and status class", ["surface", "class"]),
    inflight: metrics.gauge("unigate_requests_inflight", "requests being answered"),
  };
}
