import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** The metrics of one process. Labels are few and of low cardinality: never a key, a model or a path from a user. */
export interface Metrics extends MetricsSource {
  readonly registry: Registry;
  counter<L extends string>(name: string, help: string, labels?: readonly L[]): Counter<L>;
  /**
   * A value that is there anyway: `read` is called when the page is asked for, so nothing is paid before. `over` says
   * what several workers have together: the sum, or nothing that means something, so that each is shown apart.
   */
  gauge(name: string, help: string, read: () => number, over?: "sum" | "each"): void;
  /** Counts that the caller keeps, with their labels; read when the page is asked for. */
  counts<L extends string>(name: string, help: string, labels: readonly L[], read: () => Iterable<LabelledCount<L>>): void;
  /** The values of now, for `mergeMetrics` in another process. */
  snapshot(): Promise<MetricsSnapshot>;
}

/** What answers /metrics. */
export interface MetricsSource {
  page(): Promise<MetricsPage>;
}

export interface MetricsPage {
  readonly contentType: string;
  readonly body: string;
}

export interface LabelledCount<L extends string> {
  readonly labels: Readonly<Record<L, string>>;
  readonly count: number;
}

/** The values of one process, as plain data. */
export type MetricsSnapshot = readonly MetricValues[];

export interface MetricValues {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** "sum", or how values of several processes would be made one where a sum means nothing. */
  readonly aggregator: string;
  readonly values: readonly MetricValue[];
}

interface MetricValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  /** Of a part of a histogram. */
  readonly metricName?: string;
}

/** A registry with Node's own metrics in it. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    page: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
    snapshot: () => registry.getMetricsAsJSON() as Promise<object> as Promise<MetricsSnapshot>,
    counter: (name, help, labels = []) => new Counter({ name, help, labelNames: [...labels], registers }),
    gauge(name, help, read, over = "sum") {
      const aggregator = over === "sum" ? "sum" : "omit";
      const gauge: Gauge = new Gauge({ name, help, aggregator, registers, collect: () => gauge.set(read()) });
    },
    counts(name, help, labels, read) {
      const counter = new Counter({
        name,
        help,
        labelNames: [...labels],
        registers,
        collect() {
          counter.reset();
          for (const { labels: values, count } of read()) counter.inc(values, count);
        },
      });
    },
  };
}
