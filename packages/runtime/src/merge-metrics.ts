import { AggregatorRegistry } from "prom-client";
import type { MetricsPage, MetricsSnapshot, MetricValues } from "./metrics.ts";

/** Node's own gauges that say nothing when they are added up, though prom-client would. */
const NEVER_SUMMED = new Set(["process_max_fds"]);

/**
 * One page of the metrics of several processes, by what each is called. Counters and histograms are added up; so are
 * gauges, but for those of which a sum means nothing: they get a label `worker` with that name.
 */
export async function mergeMetrics(processes: ReadonlyMap<string, MetricsSnapshot>): Promise<MetricsPage> {
  const all = [...processes].map(([worker, metrics]) => metrics.map((metric) => (isSummed(metric) ? metric : labelled(metric, worker))));
  const merged = AggregatorRegistry.aggregate(all);
  return { contentType: merged.contentType, body: await merged.metrics() };
}

/** What ended processes had counted: without it the sums would fall, which reads as a count that began anew. */
export async function addCounts(ended: MetricsSnapshot, more: MetricsSnapshot): Promise<MetricsSnapshot> {
  const counts = more.filter(({ type }) => type === "counter" || type === "histogram");
  return AggregatorRegistry.aggregate([[...ended], counts]).getMetricsAsJSON() as Promise<object> as Promise<MetricsSnapshot>;
}

function isSummed({ name, type, aggregator }: MetricValues): boolean {
  return type !== "gauge" || (aggregator === "sum" && !NEVER_SUMMED.has(name));
}

/** Values with different labels are not added up. */
function labelled(metric: MetricValues, worker: string): MetricValues {
  const values = metric.values.map((value) => ({ ...value, labels: { ...value.labels, worker } }));
  return { ...metric, aggregator: "sum", values };
}
