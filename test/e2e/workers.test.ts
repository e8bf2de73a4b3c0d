import { chatReply, chatStreamReply, type Gateway, hangReply, requirement, until } from "@unigate/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { openAi } from "./sdk.ts";
import { declaredKey } from "./stage.ts";
import { freshGet, hourWithTime, metricOf, sum, useWorkers, workersOf } from "./workers.ts";

describe.skipIf(!requirement("long").available)("a gateway with workers", { timeout: 120_000 }, () => {
  const stage = useWorkers();

  describe.each([2, 4])("%i of them, without Redis", (count) => {
    const fifty = declaredKey("fifty", { rate_limits: [{ type: "requests", unit: "rph", value: 50 }] });
    const free = declaredKey("free");
    let gateway: Gateway;
    beforeAll(async () => {
      gateway = await stage.start(count, { config: { version: 1, keys: [fifty, free] }, env: { UNIGATE_METRICS_PORT: "0" } });
    });
    afterAll(stage.stopAll);

    test("a limit of 50 an hour lets exactly 50 of 400 calls at once through, and several workers serve them", async () => {
      await hourWithTime();
      stage.upstream.always(chatReply("ok"));
      const statuses = await Promise.all(Array.from({ length: 400 }, () => stage.chat(gateway, fifty.key)));
      expect(statuses.filter((status) => status === 200)).toHaveLength(50);
      expect(new Set(statuses)).toEqual(new Set([200, 429]));
      expect(stage.upstream.requests).toHaveLength(50);
      expect(await stage.chat(gateway, fifty.key)).toBe(429);

      expect(workersOf(gateway)).toHaveLength(count);
      const byWorker = await metricOf(gateway, "unigate_worker_requests_total");
      expect(Object.keys(byWorker)).toHaveLength(count);
      expect(Object.values(byWorker).filter((requests) => requests > 0).length).toBeGreaterThan(1);
    });

    test("whoever answers, the metrics are of all processes", async () => {
      stage.upstream.always(chatReply("ok"));
      const before = sum(await metricOf(gateway, "unigate_requests_total"));
      const rounds = 40;
      for (let round = 0; round < rounds; round++) {
        expect(await stage.chat(gateway, free.key)).toBe(200);
        expect(sum(await metricOf(gateway, "unigate_requests_total"))).toBe(before + round + 1);
      }
      expect(sum(await metricOf(gateway, "unigate_worker_requests_total"))).toBe(before + rounds);
      expect(await metricOf(gateway, "unigate_workers_ready")).toEqual({ "": count });
      expect(Object.keys(await metricOf(gateway, "nodejs_eventloop_lag_p99_seconds"))).toHaveLength(count + 1);
      expect((await freshGet(gateway, "/healthz")).status).toBe(200);
      await until("every worker to be ready", async () => (await freshGet(gateway, "/readyz")).status === 200);
    });

    test("the OpenAI SDK: an answer, a stream, and a cancel that reaches the upstream", async () => {
      const sdk = openAi(gateway, free.key, withConfig(target(stage.upstream.origin)));
      const messages = [{ role: "user" as const, content: "Hello" }];
      stage.upstream.script(chatReply("whole"), chatStreamReply(["in ", "pieces"]), hangReply());
      const answer = await sdk.chat.completions.create({ model: "m", messages });
      expect(answer.choices[0]?.message.content).toBe("whole");
      let text = "";
      for await (const chunk of await sdk.chat.completions.create({ model: "m", messages, stream: true }))
        text += chunk.choices[0]?.delta.content ?? "";
      expect(text).toBe("in pieces");
      const leaving = new AbortController();
      const left = sdk.chat.completions.create({ model: "m", messages }, { signal: leaving.signal });
      await until("the request to arrive", async () => (await stage.upstream.request(2)).complete);
      leaving.abort();
      await expect(left).rejects.toThrow("aborted");
      await stage.upstream.closed(2);
    });

    test("keys are made and shown once, the log says which worker it was, and it is managed like one process", async () => {
      const traceId = `logged-${count}`;
      stage.upstream.script(chatReply("ok"));
      expect(await stage.chat(gateway, free.key, traceId)).toBe(200);
      const [record] = await logsOf(gateway, free.key, traceId, 1);
      expect(record).toMatchObject({ outcome: "success", api_key_id: "key-free" });
    });
  });

  const redis = requirement("redis");
  describe.skipIf(!redis.available)(`with Redis${redis.available ? "" : ` (${redis.reason})`}`, () => {
    afterEach(stage.stopAll);

    test("policy runs in every worker, and a limit lets exactly its number through", async () => {
      await hourWithTime();
      const key = declaredKey(`redis-${Date.now()}`, { rate_limits: [{ type: "requests", unit: "rph", value: 20 }] });
      const gateway = await stage.start(2, { config: { version: 1, keys: [key] }, env: { UNIGATE_REDIS_URL: redis.at } });
      stage.upstream.always(chatReply("ok"));
      expect(await metricOf(gateway, "unigate_policy_redis_open")).toEqual({ '{worker="1"}': 0, '{worker="2"}': 0 });
      const statuses: (number | string)[] = [];
      // Redis has 75 ms: what a busy machine makes later passes uncounted, so not all at once.
      for (let round = 0; round < 10; round++)
        statuses.push(...(await Promise.all(Array.from({ length: 4 }, () => stage.chat(gateway, key.key)))));
      expect(statuses.filter((status) => status === 200)).toHaveLength(20);
    });
  });

  test("a mesh: only its edge has workers", { timeout: 180_000 }, async () => {
    const { name, key } = declaredKey("meshed");
    const gateway = await stage.start(2, {
      mode: "mesh",
      config: { version: 1, keys: [{ name, key, scopes: ["*"] }] },
      env: { UNIGATE_WORKERS: "2" },
    });
    stage.upstream.always(chatReply("ok"));
    expect(await stage.chat(gateway, key)).toBe(200);
    expect(await metricOf(gateway, "unigate_workers_ready")).toEqual({ "": 2 });
    gateway.signal("SIGTERM");
    expect(await gateway.ended).toBe(0);
    await stage.stopAll();
  });
});
