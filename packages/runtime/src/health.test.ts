import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { answerHealth, Health, listen, serveHealth } from "./health.ts";
import { createMetrics } from "./metrics.ts";

const metrics = createMetrics();

describe("readiness", () => {
  test("reasons come from every part that has one, in order, asked each time", () => {
    const health = new Health();
    let storeReason: string | null = "opening";
    health.add("store", () => storeReason);
    health.add("router", () => null);
    health.add("process", () => "shutting down");
    expect(health.reasons()).toEqual(["store: opening", "process: shutting down"]);
    storeReason = null;
    expect(health.reasons()).toEqual(["process: shutting down"]);
  });

  test("a part that is added again replaces itself", () => {
    const health = new Health();
    health.add("store", () => "opening");
    health.add("store", () => null);
    expect(health.reasons()).toEqual([]);
  });
});

describe("answers", () => {
  const ready = { reasons: () => [] };
  const unready = { reasons: () => ["store: opening"] };

  test.each([
    ["/healthz", ready, 200, { status: "ok" }],
    ["/healthz", unready, 200, { status: "ok" }],
    ["/readyz", ready, 200, { status: "ready" }],
    ["/readyz", unready, 503, { status: "not_ready", reasons: ["store: opening"] }],
  ])("%s", async (path, health, status, body) => {
    const answer = await answerHealth(path, health, metrics);
    expect(answer).toMatchObject({ status, contentType: "application/json" });
    expect(JSON.parse(answer?.body ?? "")).toEqual(body);
  });

  test("/metrics is what Prometheus reads", async () => {
    const counter = metrics.counter("health_test_total", "counted by a test", ["kind"]);
    counter.inc({ kind: "a" }, 3);
    const answer = await answerHealth("/metrics", ready, metrics);
    expect(answer?.contentType).toContain("text/plain");
    expect(answer?.body).toContain("# HELP health_test_total counted by a test");
    expect(answer?.body).toContain('health_test_total{kind="a"} 3');
    expect(answer?.body).toContain("process_cpu_seconds_total");
  });

  test.each(["/", "", "/healthz/", "/metrics2", "/v1/chat/completions"])("%j is not answered", async (path) => {
    expect(await answerHealth(path, ready, metrics)).toBeNull();
  });
});

test("served over HTTP, with a query or not, until it is closed", async () => {
  const health = new Health();
  const server = await serveHealth("127.0.0.1", 0, health, metrics);
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { connection: "close" } });
    return [response.status, response.headers.get("content-type"), await response.text()];
  };
  expect(await get("/healthz?x=1")).toEqual([200, "application/json", '{"status":"ok"}']);
  expect((await get("/readyz"))[0]).toBe(200);
  health.add("process", () => "shutting down");
  expect((await get("/readyz"))[0]).toBe(503);
  expect((await get("/metrics"))[0]).toBe(200);
  expect((await get("/nowhere"))[0]).toBe(404);
  await server.close();
  await expect(get("/healthz")).rejects.toThrow();
});

test("metrics that fail are a 500, not a hanging request", async () => {
  const broken = createMetrics();
  broken.registry.metrics = () => Promise.reject(new Error("no metrics"));
  const server = await serveHealth("127.0.0.1", 0, new Health(), broken);
  const response = await fetch(`http://127.0.0.1:${server.port}/metrics`, { headers: { connection: "close" } });
  expect(response.status).toBe(500);
  await server.close();
});

test("a port in use is told with its address and what to do", async () => {
  const first = await serveHealth("127.0.0.1", 0, new Health(), metrics);
  await expect(listen(createServer(), "127.0.0.1", first.port)).rejects.toThrow(
    `cannot listen on 127.0.0.1:${first.port}: it is already in use; stop the other process or choose another port`,
  );
  await first.close();
});

test("an address that is not there is told", async () => {
  await expect(listen(createServer(), "192.0.2.1", 0)).rejects.toThrow("cannot listen on 192.0.2.1:0: ");
});
