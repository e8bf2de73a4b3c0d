import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** The metrics of one process. Labels are few and of low cardinality: never a key, a model or a path from a user. */
export interface Metrics {
  readonly registry: Registry;
  counter<L extends string>(name: string, help: string, labels?: readonly L[]): Counter<L>;
  /** A value that is there anyway: `read` is called when the page is asked for, so nothing is paid before. */
  gauge(name: string, help: string, read: () => number): void;
  /** Counts that the caller keeps, with their labels; read when the page is asked for. */
  counts<L extends string>(name: string, help: string, labels: readonly L[], read: () => Iterable<LabelledCount<L>>): void;
}

export interface LabelledCount<L extends string> {
  readonly labels: Readonly<Record<L, string>>;
  readonly count: number;
}

/** A registry with Node's own metrics in it. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    counter: (name, help, labels = []) => new Counter({ name, help, labelNames: [...labels], registers }),
    gauge(name, help, read) {
      const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(read()) });
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
