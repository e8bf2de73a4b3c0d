import { addCounts, type Metrics, type MetricsPage, type MetricsSnapshot, mergeMetrics } from "@unigate/runtime";

/** The metrics of a primary and its workers as one page. */
export interface CollectedMetrics {
  /** Those who ask at the same time get the same. */
  page(): Promise<MetricsPage>;
  /** A worker ended: its counts stay on the page as they were shown last. */
  ended(worker: string): void;
}

/** `ask` gives what each worker answers, by its number; without one that does not answer. */
export function collectMetrics(own: Metrics, ask: () => Promise<ReadonlyMap<string, MetricsSnapshot>>): CollectedMetrics {
  const shown = new Map<string, MetricsSnapshot>();
  let ended: Promise<MetricsSnapshot> = Promise.resolve([]);
  let asking: Promise<MetricsPage> | null = null;

  async function collect(): Promise<MetricsPage> {
    for (const [worker, metrics] of await ask()) shown.set(worker, metrics);
    const primary = [...(await own.snapshot()), requestsByWorker(shown)];
    return mergeMetrics(new Map([["primary", primary], ...shown, ["ended", await ended]]));
  }

  return {
    page() {
      asking ??= collect().finally(() => {
        asking = null;
      });
      return asking;
    },
    ended(worker) {
      const last = shown.get(worker);
      shown.delete(worker);
      if (last !== undefined) ended = ended.then((counts) => addCounts(counts, last));
    },
  };
}

/** How the kernel shared the work out; a worker that is started again begins at 0. */
function requestsByWorker(workers: ReadonlyMap<string, MetricsSnapshot>): MetricsSnapshot[number] {
  const values = [...workers].map(([worker, metrics]) => {
    const requests = metrics.find(({ name }) => name === "unigate_requests_total")?.values ?? [];
    return { labels: { worker }, value: requests.reduce((sum, { value }) => sum + value, 0) };
  });
  return { name: "unigate_worker_requests_total", help: "requests answered, by worker", type: "counter", aggregator: "sum", values };
}
