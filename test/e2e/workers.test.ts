import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chatReply, chatStreamReply, type Gateway, hangReply, startGateway, startUpstream, type Upstream, until } from "@unigate/testkit";
import { request } from "undici";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openConnection, QUESTION, type RawConnection, requestHead, send, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { openAi } from "./sdk.ts";
import { declaredKey } from "./stage.ts";

const HOUR_MS = 3_600_000;

/** Process ids of the workers that run now. */
function workersOf(gateway: Gateway): number[] {
  const primary = String(gateway.pid("control"));
  return execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" })
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([pid, parent, state]) => (parent === primary && state !== undefined && !state.startsWith("Z") ? [Number(pid)] : []));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A chat call over a connection of its own: its status, or the code of what went wrong. */
async function freshChat(gateway: Gateway, key: string, upstream: Upstream, traceId = ""): Promise<number | string> {
  const headers = { "x-gateway-api-key": key, "content-type": "application/json", ...withConfig(target(upstream.origin)) };
  try {
    const answer = await request(`${gateway.origin}/v1/chat/completions`, {
      method: "POST",
      headers: traceId === "" ? headers : { ...headers, "x-gateway-trace-id": traceId },
      body: JSON.stringify(QUESTION),
      reset: true,
    });
    await answer.body.dump();
    return answer.statusCode;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

/** The samples of a metric by the text of their labels, from whichever process answers. */
async function metricOf(gateway: Gateway, name: string): Promise<Record<string, number>> {
  const page = await request(`${gateway.origin}/metrics`, { reset: true });
  const lines = (await page.body.text()).split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return Object.fromEntries(lines.map((line) => [line.slice(name.length, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
}

function sum(samples: Readonly<Record<string, number>>): number {
  return Object.values(samples).reduce((total, value) => total + value, 0);
}

describe("a gateway with workers", () => {
  let upstream: Upstream;
  const gateways: Gateway[] = [];
  const connections: RawConnection[] = [];
  beforeAll(async () => {
    upstream = await startUpstream();
  });
  afterAll(() => upstream.close());
  beforeEach(() => upstream.reset());
  afterEach(() => {
    for (const connection of connections.splice(0)) connection.leave();
  });

  async function start(workers: number, over: Partial<Parameters<typeof startGateway>[0]> = {}): Promise<Gateway> {
    const gateway = await startGateway({ mode: "single", workers, ...over });
    gateways.push(gateway);
    return gateway;
  }
  async function stopAll(): Promise<void> {
    for (const gateway of gateways.splice(0)) await gateway.stop();
  }
  /** A request over a connection that the client keeps open. */
  function ask(gateway: Gateway, key: string, traceId: string, body: object): RawConnection {
    const text = JSON.stringify({ ...QUESTION, ...body });
    const connection = openConnection(gateway);
    connections.push(connection);
    const headers = { "x-gateway-api-key": key, "x-gateway-trace-id": traceId, ...withConfig(target(upstream.origin)) };
    connection.write(
      requestHead("POST /v1/chat/completions", { ...headers, "content-type": "application/json", "content-length": String(text.length) }) +
        text,
    );
    return connection;
  }

  describe.each([2, 4])("%i of them, without Redis", (count) => {
    const fifty = declaredKey("fifty", { rate_limits: [{ type: "requests", unit: "rph", value: 50 }] });
    const free = declaredKey("free");
    let gateway: Gateway;
    beforeAll(async () => {
      gateway = await start(count, { config: { version: 1, keys: [fifty, free] }, env: { UNIGATE_METRICS_PORT: "0" } });
    });
    afterAll(stopAll);

    test("a limit of 50 an hour lets exactly 50 of 400 calls at once through, and several workers serve them", async () => {
      await until("an hour that lasts a while", () => Date.now() % HOUR_MS < HOUR_MS - 30_000, 40_000);
      upstream.always(chatReply("ok"));
      const statuses = await Promise.all(Array.from({ length: 400 }, () => freshChat(gateway, fifty.key, upstream)));
      expect(statuses.filter((status) => status === 200)).toHaveLength(50);
      expect(statuses.filter((status) => status === 429)).toHaveLength(350);
      expect(upstream.requests).toHaveLength(50);
      expect(await freshChat(gateway, fifty.key, upstream)).toBe(429);

      expect(workersOf(gateway)).toHaveLength(count);
      const byWorker = await metricOf(gateway, "unigate_worker_requests_total");
      expect(Object.keys(byWorker)).toHaveLength(count);
      expect(Object.values(byWorker).filter((requests) => requests > 0).length).toBeGreaterThan(1);
    });

    test("whoever answers, the metrics are of all processes", async () => {
      upstream.always(chatReply("ok"));
      const before = sum(await metricOf(gateway, "unigate_requests_total"));
      const rounds = 40;
      for (let round = 0; round < rounds; round++) {
        expect(await freshChat(gateway, free.key, upstream)).toBe(200);
        expect(sum(await metricOf(gateway, "unigate_requests_total"))).toBe(before + round + 1);
      }
      expect(sum(await metricOf(gateway, "unigate_worker_requests_total"))).toBe(before + rounds);
      expect(await metricOf(gateway, "unigate_workers_ready")).toEqual({ "": count });
      expect(Object.keys(await metricOf(gateway, "nodejs_eventloop_lag_p99_seconds"))).toHaveLength(count + 1);
      expect((await send(gateway, "/healthz")).status).toBe(200);
      await until("every worker to be ready", async () => (await send(gateway, "/readyz")).status === 200);
    });

    test("the OpenAI SDK: an answer, a stream, and a cancel that reaches the upstream", async () => {
      const sdk = openAi(gateway, free.key, withConfig(target(upstream.origin)));
      const messages = [{ role: "user" as const, content: "Hello" }];
      upstream.script(chatReply("whole"), chatStreamReply(["in ", "pieces"]), hangReply());
      const answer = await sdk.chat.completions.create({ model: "m", messages });
      expect(answer.choices[0]?.message.content).toBe("whole");
      let text = "";
      for await (const chunk of await sdk.chat.completions.create({ model: "m", messages, stream: true }))
        text += chunk.choices[0]?.delta.content ?? "";
      expect(text).toBe("in pieces");
      const leaving = new AbortController();
      const left = sdk.chat.completions.create({ model: "m", messages }, { signal: leaving.signal });
      await until("the request to arrive", async () => (await upstream.request(2)).complete);
      leaving.abort();
      await expect(left).rejects.toThrow("aborted");
      await upstream.closed(2);
    });

    test("keys are made and shown once, the log says which worker it was, and it is managed like one process", async () => {
      const traceId = `logged-${count}`;
      upstream.script(chatReply("ok"));
      expect(await freshChat(gateway, free.key, upstream, traceId)).toBe(200);
      const [record] = await logsOf(gateway, free.key, traceId, 1);
      expect(record).toMatchObject({ outcome: "success", api_key_id: "key-free" });
    });
  });

  describe("that is killed in part", () => {
    afterEach(stopAll);

    test("one worker: the others go on, it comes back, and what it was at is in the log as interrupted, once", async () => {
      const { name, key } = declaredKey("crash");
      const gateway = await start(2, { config: { version: 1, keys: [{ name, key, scopes: ["*"] }] } });
      let open = (): void => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      upstream.always(({ body }) =>
        String(body).includes('"stream":true') ? chatStreamReply(["first ", gate, "second"]) : chatReply("ok"),
      );
      const streams = Array.from({ length: 16 }, (_, index) => {
        const traceId = `stream-${index}`;
        return { traceId, connection: ask(gateway, key, traceId, { stream: true }) };
      });
      await until("all streams to have begun", () => streams.every(({ connection }) => connection.received().includes("first")));

      const calls: { traceId: string; status: number | string }[] = [];
      let isLoaded = true;
      const load = Array.from({ length: 6 }, async (_, lane) => {
        for (let index = 0; isLoaded; index++) {
          const traceId = `call-${lane}-${index}`;
          calls.push({ traceId, status: await freshChat(gateway, key, upstream, traceId) });
        }
      });
      await until("some calls", () => calls.length > 30);
      const before = workersOf(gateway);
      const shown = sum(await metricOf(gateway, "unigate_requests_total"));
      const [victim = 0] = before;
      process.kill(victim, "SIGKILL");
      await until("its connections to end", () => streams.some(({ connection }) => connection.closed));
      const atDeath = calls.length;
      await until("it to be back", () => gateway.output().includes("a worker is back"), 30_000);
      await until("more calls", () => calls.length > atDeath + 30);
      isLoaded = false;
      await Promise.all(load);

      const after = workersOf(gateway);
      expect(after).toHaveLength(2);
      expect(after.filter((pid) => before.includes(pid))).toHaveLength(1);
      const failed = calls.filter(({ status }) => status !== 200);
      // At most what the dead worker had accepted.
      expect(failed.length).toBeLessThanOrEqual(6);
      for (const { status } of failed) expect(status).toMatch(/ECONNRESET|UND_ERR_SOCKET/);
      expect(sum(await metricOf(gateway, "unigate_requests_total"))).toBeGreaterThanOrEqual(shown);
      expect(await metricOf(gateway, "unigate_worker_restarts_total")).toEqual({ "": 1 });

      const [cut, whole] = [streams.filter(({ connection }) => connection.closed), streams.filter(({ connection }) => !connection.closed)];
      expect(whole.length).toBeGreaterThan(0);
      open();
      await until("the other streams' end", () => whole.every(({ connection }) => connection.received().endsWith("0\r\n\r\n")));
      for (const { connection } of whole) expect(connection.received()).toContain("[DONE]");
      for (const { traceId } of cut) {
        const [record] = await until(`the record of ${traceId}`, () => logsOf(gateway, key, traceId, 1), 40_000);
        expect(record).toMatchObject({ outcome: "interrupted", trace_id: traceId });
      }
      for (const { traceId } of whole) expect((await logsOf(gateway, key, traceId, 1))[0]).toMatchObject({ outcome: "success" });
      for (const { traceId, status } of calls)
        if (status === 200) expect((await logsOf(gateway, key, traceId, 1))[0]).toMatchObject({ outcome: "success", status: 200 });
    }, 120_000);

    test("the primary: every worker ends, and the next start takes over folder and port", async () => {
      const folder = mkdtempSync(join(tmpdir(), "unigate-workers-"));
      try {
        const { name, key } = declaredKey("orphaned");
        const config = { version: 1, keys: [{ name, key, scopes: ["*"] }] };
        const first = await start(2, { config, env: { UNIGATE_DATA_DIR: folder } });
        upstream.script(chatStreamReply(["first", new Promise(() => {})]));
        const stream = ask(first, key, "orphaned", { stream: true });
        await until("the first word", () => stream.received().includes("first"));
        const workers = workersOf(first);
        expect(workers).toHaveLength(2);
        first.kill("control", "SIGKILL");

        const second = await start(2, { config, env: { UNIGATE_DATA_DIR: folder, PORT: String(first.port) } });
        upstream.script(chatReply("back"));
        expect(await freshChat(second, key, upstream)).toBe(200);
        await until("the stream's end", () => stream.received().endsWith("0\r\n\r\n"));
        expect(stream.received()).toContain("server_shutting_down");
        await until("the old workers' end", () => workers.every((pid) => !isAlive(pid)), 20_000);
        const [record] = await until("the record", () => logsOf(second, key, "orphaned", 1), 40_000);
        expect(record).toMatchObject({ stream: true, error: { code: "server_shutting_down" } });
      } finally {
        await stopAll();
        rmSync(folder, { recursive: true, force: true });
      }
    }, 120_000);
  });
});
