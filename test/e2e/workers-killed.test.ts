import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chatReply, chatStreamReply, removeFolder, requirement, until } from "@unigate/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { logsOf } from "./logs.ts";
import { declaredKey } from "./stage.ts";
import { freshGet, isAlive, metricOf, sum, useWorkers, workersOf } from "./workers.ts";

/** A busy machine included: several processes start in each test. */
const PATIENCE_MS = 180_000;

describe.skipIf(!requirement("long").available)("a gateway with workers that is killed in part", { timeout: PATIENCE_MS }, () => {
  const stage = useWorkers();
  afterEach(stage.stopAll);

  test("one worker: the others go on, it comes back, and what it was at is in the log as interrupted, once", async () => {
    const { name, key } = declaredKey("crash");
    const gateway = await stage.start(2, { config: { version: 1, keys: [{ name, key, scopes: ["*"] }] } });
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    stage.upstream.always(({ body }) =>
      String(body).includes('"stream":true') ? chatStreamReply(["first ", gate, "second"]) : chatReply("ok"),
    );
    const [victim = 0, survivor = 0] = workersOf(gateway);
    /** While one of the two stands still the other accepts them all. */
    async function streamsPast(still: number, ids: readonly string[]) {
      process.kill(still, "SIGSTOP");
      const begun = ids.map((traceId) => ({ traceId, connection: stage.ask(gateway, key, traceId, { stream: true }) }));
      await until("the streams to have begun", () => begun.every(({ connection }) => connection.received().includes("first")));
      process.kill(still, "SIGCONT");
      return begun;
    }
    const cut = await streamsPast(survivor, ["cut-0", "cut-1", "cut-2", "cut-3"]);
    const whole = await streamsPast(victim, ["whole-0", "whole-1", "whole-2", "whole-3"]);

    const calls: { traceId: string; status: number | string; begunAt: number }[] = [];
    let isLoaded = true;
    const load = Array.from({ length: 6 }, async (_, lane) => {
      for (let index = 0; isLoaded; index++) {
        const traceId = `call-${lane}-${index}`;
        const begunAt = Date.now();
        calls.push({ traceId, status: await stage.chat(gateway, key, traceId), begunAt });
      }
    });
    await until("some calls", () => calls.length > 30);
    // Logged before the kill, so that no delay of a busy machine may be taken for a loss.
    const logged = calls.slice();
    for (const { traceId, status } of logged) {
      expect(status).toBe(200);
      await logsOf(gateway, key, traceId, 1);
    }
    const shown = sum(await metricOf(gateway, "unigate_requests_total"));
    process.kill(victim, "SIGKILL");
    await until("its connections to end", () => cut.every(({ connection }) => connection.closed));
    const [deadAt, atDeath] = [Date.now(), calls.length];
    await until("it to be back", () => gateway.output().includes("a worker is back"), 30_000);
    await until("more calls", () => calls.length > atDeath + 30);
    await until("every worker to serve", async () => {
      const byWorker = Object.values(await metricOf(gateway, "unigate_worker_requests_total"));
      return byWorker.length === 2 && byWorker.every((requests) => requests > 0);
    });
    isLoaded = false;
    await Promise.all(load);

    const after = workersOf(gateway);
    expect(after).toHaveLength(2);
    expect([after.includes(victim), after.includes(survivor)]).toEqual([false, true]);
    const failed = calls.filter(({ status }) => status !== 200);
    // At most what the dead worker had accepted.
    expect(failed.length).toBeLessThanOrEqual(6);
    for (const { status } of failed) expect(status).toMatch(/ECONNRESET|EPIPE/);
    expect(sum(await metricOf(gateway, "unigate_requests_total"))).toBeGreaterThanOrEqual(shown);
    expect(await metricOf(gateway, "unigate_worker_restarts_total")).toEqual({ "": 1 });

    expect(whole.filter(({ connection }) => connection.closed)).toEqual([]);
    open();
    await until("the other streams' end", () => whole.every(({ connection }) => connection.received().endsWith("0\r\n\r\n")));
    for (const { connection } of whole) expect(connection.received()).toContain("[DONE]");
    for (const { traceId } of cut) {
      const [record] = await until(`the record of ${traceId}`, () => logsOf(gateway, key, traceId, 1), 40_000);
      expect(record).toMatchObject({ outcome: "interrupted", trace_id: traceId });
    }
    const taken = gateway
      .output()
      .split("\n")
      .find((line) => line.includes("took over a folder"));
    expect(JSON.parse(taken ?? "{}")).toMatchObject({ worker: expect.toBeOneOf([1, 2]) as number });
    for (const { traceId } of whole) expect((await logsOf(gateway, key, traceId, 1))[0]).toMatchObject({ outcome: "success" });
    for (const { traceId, status } of [...logged, ...calls.filter(({ begunAt }) => begunAt > deadAt)])
      if (status === 200) expect((await logsOf(gateway, key, traceId, 1))[0]).toMatchObject({ outcome: "success", status: 200 });
  });

  test("all workers at once: they come back on the same port", async () => {
    const { name, key } = declaredKey("again");
    const gateway = await stage.start(2, { config: { version: 1, keys: [{ name, key, scopes: ["*"] }] } });
    stage.upstream.always(chatReply("ok"));
    for (const pid of workersOf(gateway)) process.kill(pid, "SIGKILL");
    await until("an answer", async () => (await stage.chat(gateway, key)) === 200, 30_000);
    await until("both", () => workersOf(gateway).length === 2, 30_000);
  });

  test("the primary is silent: no worker is ready until it speaks again", async () => {
    const gateway = await stage.start(2);
    const readiness = async (): Promise<string> => (await freshGet(gateway, "/readyz")).text;
    await until("ready", async () => (await readiness()) === '{"status":"ready"}');
    gateway.signal("SIGSTOP");
    await until("not ready", async () => (await readiness()).includes("primary: it does not answer"), 20_000);
    expect((await freshGet(gateway, "/healthz")).status).toBe(200);
    gateway.signal("SIGCONT");
    await until("ready again", async () => (await readiness()) === '{"status":"ready"}', 20_000);
  });

  test("the primary: every worker ends, and the next start takes over folder and port", async () => {
    const folder = mkdtempSync(join(tmpdir(), "unigate-workers-"));
    try {
      const { name, key } = declaredKey("orphaned");
      const config = { version: 1, keys: [{ name, key, scopes: ["*"] }] };
      const first = await stage.start(2, { config, env: { UNIGATE_DATA_DIR: folder } });
      stage.upstream.script(chatStreamReply(["first", new Promise(() => {})]));
      const stream = stage.ask(first, key, "orphaned", { stream: true });
      await until("the first word", () => stream.received().includes("first"));
      const workers = workersOf(first);
      expect(workers).toHaveLength(2);
      first.kill("control", "SIGKILL");

      const second = await stage.start(2, { config, env: { UNIGATE_DATA_DIR: folder, PORT: String(first.port) } });
      stage.upstream.script(chatReply("back"));
      expect(await stage.chat(second, key)).toBe(200);
      await until("the stream's end", () => stream.received().endsWith("0\r\n\r\n"));
      expect(stream.received()).toContain("server_shutting_down");
      await until("the old workers' end", () => workers.every((pid) => !isAlive(pid)), 20_000);
      const [record] = await until("the record", () => logsOf(second, key, "orphaned", 1), 40_000);
      expect(record).toMatchObject({ stream: true, error: { code: "server_shutting_down" } });
    } finally {
      await stage.stopAll();
      removeFolder(folder);
    }
  });
});
