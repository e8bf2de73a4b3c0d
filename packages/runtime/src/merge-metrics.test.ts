import { expect, test } from "vitest";
import { addCounts, mergeMetrics } from "./merge-metrics.ts";
import { createMetrics, type Metrics } from "./metrics.ts";

/** One process that served so many requests. */
function processWith(requests: number): Metrics {
  const metrics = createMetrics();
  metrics.counter("test_requests_total", "requests", ["surface"]).inc({ surface: "chat" }, requests);
  metrics.counts("test_kept_total", "kept", ["by"], () => [{ labels: { by: "caller" }, count: requests }]);
  metrics.gauge("test_open", "open", () => requests);
  metrics.gauge("test_failing", "1 while it fails", () => (requests > 5 ? 1 : 0), "each");
  return metrics;
}

async function linesOf(page: Promise<{ readonly body: string }>, about: RegExp): Promise<string[]> {
  return (await page).body.split("\n").filter((line) => about.test(line));
}

test("counters and gauges are added up; what cannot be added has the label of its worker", async () => {
  const two = new Map([
    ["1", await processWith(3).snapshot()],
    ["2", await processWith(40).snapshot()],
  ]);
  expect(await linesOf(mergeMetrics(two), /^test_/)).toEqual([
    'test_requests_total{surface="chat"} 43',
    'test_kept_total{by="caller"} 43',
    "test_open 43",
    'test_failing{worker="1"} 0',
    'test_failing{worker="2"} 1',
  ]);
  const own = await linesOf(
    mergeMetrics(two),
    /^(process_max_fds|process_start_time_seconds|nodejs_version_info|nodejs_eventloop_lag_p99)/,
  );
  expect(own.map((line) => line.match(/^\w+|worker="\d"/g)?.join(" "))).toEqual(
    ["process_start_time_seconds", "process_max_fds", "nodejs_eventloop_lag_p99_seconds", "nodejs_version_info"].flatMap((name) => [
      `${name} worker="1"`,
      `${name} worker="2"`,
    ]),
  );
});

test("every metric of a process is on the page, once", async () => {
  const metrics = processWith(1);
  const names = metrics.registry.getMetricsAsArray().map(({ name }) => name);
  const heads = await linesOf(mergeMetrics(new Map([["1", await metrics.snapshot()]])), /^# TYPE/);
  expect(heads.map((line) => line.split(" ")[2]).toSorted()).toEqual(names.toSorted());
});

test("counts of an ended process stay, its gauges go", async () => {
  const ended = await addCounts(await addCounts([], await processWith(3).snapshot()), await processWith(4).snapshot());
  const page = mergeMetrics(
    new Map([
      ["ended", ended],
      ["1", await processWith(50).snapshot()],
    ]),
  );
  expect(await linesOf(page, /^test_/)).toEqual([
    'test_requests_total{surface="chat"} 57',
    'test_kept_total{by="caller"} 57',
    "test_open 50",
    'test_failing{worker="1"} 1',
  ]);
});

test("a snapshot goes as JSON from one process to another", async () => {
  const snapshot = await processWith(2).snapshot();
  const arrived = JSON.parse(JSON.stringify(snapshot)) as typeof snapshot;
  expect(await linesOf(mergeMetrics(new Map([["1", arrived]])), /^test_requests/)).toEqual(['test_requests_total{surface="chat"} 2']);
});
