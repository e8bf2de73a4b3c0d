import { createMetrics, type MetricsSnapshot } from "@unigate/runtime";
import { expect, test } from "vitest";
import { collectMetrics } from "./collected-metrics.ts";

/** What a worker answers that served so many requests. */
function workerWith(requests: number): Promise<MetricsSnapshot> {
  const metrics = createMetrics();
  metrics.counts("unigate_requests_total", "requests", ["surface"], () => [{ labels: { surface: "chat" }, count: requests }]);
  metrics.gauge("unigate_requests_inflight", "open", () => 1);
  return metrics.snapshot();
}

/** Samples about requests, in the order of the page. */
async function samples(page: Promise<{ readonly body: string }>): Promise<string[]> {
  return (await page).body.split("\n").filter((line) => /^unigate_\w*requests/.test(line));
}

test("counts never fall: not when a worker dies, begins anew, or does not answer", async () => {
  let answers = new Map<string, MetricsSnapshot>();
  const collected = collectMetrics(createMetrics(), () => Promise.resolve(answers));
  answers = new Map([
    ["1", await workerWith(10)],
    ["2", await workerWith(5)],
  ]);
  expect(await samples(collected.page())).toEqual([
    'unigate_worker_requests_total{worker="1"} 10',
    'unigate_worker_requests_total{worker="2"} 5',
    'unigate_requests_total{surface="chat"} 15',
    "unigate_requests_inflight 2",
  ]);

  collected.ended("1");
  answers = new Map([["2", await workerWith(6)]]);
  expect(await samples(collected.page())).toEqual([
    'unigate_worker_requests_total{worker="2"} 6',
    'unigate_requests_total{surface="chat"} 16',
    "unigate_requests_inflight 1",
  ]);

  answers = new Map([["1", await workerWith(1)]]);
  expect(await samples(collected.page())).toEqual([
    'unigate_worker_requests_total{worker="2"} 6',
    'unigate_worker_requests_total{worker="1"} 1',
    'unigate_requests_total{surface="chat"} 17',
    "unigate_requests_inflight 2",
  ]);
});

test("a worker that ends while it is asked is not counted twice", async () => {
  let answer: (metrics: Map<string, MetricsSnapshot>) => void = () => {};
  const answers = [
    Promise.resolve(new Map([["1", await workerWith(10)]])),
    new Promise<Map<string, MetricsSnapshot>>((done) => (answer = done)),
  ];
  const collected = collectMetrics(createMetrics(), () => answers.shift() ?? Promise.resolve(new Map()));
  await collected.page();
  const page = collected.page();
  collected.ended("1");
  answer(new Map());
  expect(await samples(page)).toEqual(['unigate_requests_total{surface="chat"} 10']);
});

test("those who ask at once get one page", async () => {
  let asked = 0;
  const collected = collectMetrics(createMetrics(), () => Promise.resolve(new Map()).finally(() => (asked += 1)));
  const pages = await Promise.all([collected.page(), collected.page(), collected.page()]);
  expect([asked, new Set(pages).size]).toEqual([1, 1]);
  await collected.page();
  expect(asked).toBe(2);
});
