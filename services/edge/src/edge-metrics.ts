import type { Metrics } from "@unigate/runtime";

/** What the edge counts. Labels never hold a user's text. */
export interface EdgeMetrics {
  requestAnswered(status: number): void;
}

export function createEdgeMetrics(
  metrics: Metrics,
  gauges: { inflight(): number; bodyBytes(): number; settlementsDropped(): number; backgroundDropped(): number },
): EdgeMetrics {
  const bodies = metrics.gauge("unigate_edge_body_bytes", "request bodies held in memory, bytes");
  const settlements = metrics.gauge("unigate_edge_settlements_dropped", "settlements dropped because too many were waiting");
  const background = metrics.gauge("unigate_edge_background_dropped", "asynchronous hooks dropped because too many were waiting");
  const requests = metrics.counter("unigate_requests_total", "requests answered, by status class", ["class"]);
  const inflight = metrics.gauge("unigate_requests_inflight", "requests being answered");
  /** Counted in a plain map: a labelled counter costs a microsecond a request. */
  const answered = new Map<number, number>();
  const refresh = (): void => {
    inflight.set(gauges.inflight());
    for (const [digit, count] of answered) requests.inc({ class: `${digit}xx` }, count);
    answered.clear();
    bodies.set(gauges.bodyBytes());
    settlements.set(gauges.settlementsDropped());
    background.set(gauges.backgroundDropped());
  };
  setInterval(refresh, 1_000).unref();
  return {
    requestAnswered(status) {
      const key = Math.floor(status / 100);
      answered.set(key, (answered.get(key) ?? 0) + 1);
    },
  };
}
