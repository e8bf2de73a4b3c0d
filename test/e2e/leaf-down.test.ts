import type { JsonObject } from "@unigate/core";
import { makeGatewayKey } from "@unigate/secrets";
import { chatReply, chatStreamReply, type GatewayService, requirement, until } from "@unigate/testkit";
import { beforeEach, describe, expect, test } from "vitest";
import { type Answer, chat, openConnection, QUESTION, readStream, requestHead, send, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { declaredKey, useStage } from "./stage.ts";

const MAX_REQUEST_S = 3;
/** No request may take longer, whatever hangs. */
const LONGEST_MS = MAX_REQUEST_S * 1_000 + 1_500;
/** Longest for a service to be started again and found again, on a busy machine. */
const RETURN_MS = 30_000;
const DENIED_WORD = "xyzzy";

// What mesh.md section 2 promises for each service that hangs (its process is stopped) or is dead.
describe.skipIf(!requirement("long").available)("a service of the mesh", () => {
  const limited = declaredKey("limited", { rate_limits: [{ type: "requests", unit: "rpd", value: 1 }] });
  const known = declaredKey("known");
  const stage = useStage("mesh", {
    restart: true,
    env: { UNIGATE_MAX_REQUEST_SECONDS: String(MAX_REQUEST_S) },
    config: ({ origin }) => ({
      version: 1,
      providers: [{ slug: "saved", provider: "openai", api_key: "sk-saved", custom_host: `${origin}/v1` }],
      configs: [{ id: "pc-saved", config: { provider: "@saved" } }],
      keys: [limited, known],
    }),
  });
  /** The process log comes through a pipe, after the answer. */
  const said = (text: string): Promise<true> => until(`the log to say "${text}"`, () => stage.gateway.output().includes(text));
  beforeEach(() =>
    stage.upstream.always(({ body }) => (String(body).includes('"stream":true') ? chatStreamReply(["ok"]) : chatReply("ok"))),
  );
  let number = 0;

  const here = (over: object = {}): Record<string, unknown> => target(stage.upstream.origin, over);
  /** Chosen by what replicas measured, so the router is asked. */
  const balanced = (): object => ({
    strategy: { mode: "loadbalance", select: "least_latency" },
    targets: [here(), here({ weight: 0 })],
  });
  const two = (): object => ({ strategy: { mode: "fallback" }, targets: [here(), here()] });
  const cached = (): object => here({ cache: { mode: "simple" } });
  const checked = (parameters: object = {}): object => {
    const check = { id: "default.contains", parameters: { operator: "none", words: [DENIED_WORD], ...parameters } };
    return here({ before_request_hooks: [{ id: "h", deny: true, checks: [check] }] });
  };
  const denied = { messages: [{ role: "user", content: DENIED_WORD }] };

  interface Timed {
    readonly answer: Answer;
    readonly status: number;
    readonly traceId: string;
    readonly tookMs: number;
  }
  async function ask(config: object | string = here(), body: object = {}, key = known.key): Promise<Timed> {
    const traceId = `down-${number++}`;
    const chosen = typeof config === "string" ? { "x-gateway-config": config } : withConfig(config);
    const started = performance.now();
    const answer = await chat(stage.gateway, key, { ...chosen, "x-gateway-trace-id": traceId }, body);
    return { answer, status: answer.status, traceId, tookMs: performance.now() - started };
  }
  const askLimited = (): Promise<Timed> => ask(here(), {}, limited.key);
  const askUnknown = (): Promise<Timed> => ask(here(), {}, makeGatewayKey());
  const askLogs = (): Promise<Answer> => send(stage.gateway, "/v1/logs", { headers: { "x-gateway-api-key": known.key } });
  const cacheStatus = ({ answer }: Timed): unknown => answer.headers["x-gateway-cache-status"];
  async function recordOf({ traceId }: Timed): Promise<JsonObject | undefined> {
    return (await logsOf(stage.gateway, stage.key, traceId, 1))[0];
  }
  async function degraded(timed: Timed): Promise<unknown> {
    return ((await recordOf(timed))?.["decision"] as JsonObject | null | undefined)?.["degraded"];
  }
  const metrics = async (): Promise<string> => (await send(stage.gateway, "/metrics")).text;
  const isBlind = async (): Promise<boolean> => /^unigate_edge_watch_blind 1$/m.test(await metrics());
  const readiness = async (): Promise<number> => (await send(stage.gateway, "/readyz")).status;

  describe("that hangs", () => {
    async function whileStopped(service: GatewayService, work: () => Promise<void>): Promise<void> {
      stage.gateway.kill(service, "SIGSTOP");
      try {
        await work();
      } finally {
        stage.gateway.kill(service, "SIGCONT");
      }
    }

    test("policy: requests pass uncounted", async () => {
      expect([(await askLimited()).status, (await askLimited()).status]).toEqual([200, 429]);
      await whileStopped("policy", async () => {
        const { status, answer, tookMs } = await askLimited();
        expect([status, answer.headers["x-ratelimit-limit-requests"]]).toEqual([200, undefined]);
        expect(tookMs).toBeLessThan(2_500);
      });
      expect((await askLimited()).status).toBe(429);
    });

    test("cache: a look-up is a miss", async () => {
      await until("a hit", async () => cacheStatus(await ask(cached())) === "HIT");
      await whileStopped("cache", async () => {
        const missed = await ask(cached());
        expect([missed.status, cacheStatus(missed)]).toEqual([200, "MISS"]);
        expect(missed.tookMs).toBeLessThan(2_000);
      });
      await until("a hit", async () => cacheStatus(await ask(cached())) === "HIT");
    });

    test("guardrail: nobody is held longer than a request may take, and nothing passes unchecked by that", async () => {
      await whileStopped("guardrail", async () => {
        const { status, tookMs } = await ask(checked(), denied);
        expect([503, 504]).toContain(status);
        expect(tookMs).toBeLessThan(LONGEST_MS);
        expect(stage.upstream.requests.length).toBe(0);
      });
      await until("the denial", async () => (await ask(checked(), denied)).status === 446);
    });

    test("router: the edge plans alone after a second, and the record says so", async () => {
      expect(await degraded(await ask(balanced()))).toBeUndefined();
      await whileStopped("router", async () => {
        const hung = await ask(balanced());
        expect(hung.status, hung.answer.text).toBe(200);
        expect(hung.tookMs).toBeLessThan(2_500);
        expect(await degraded(hung)).toBe("router");
      });
      await until("the router to plan", async () => (await degraded(await ask(balanced()))) === undefined);
    });

    test("logging: no request waits for it, and its records come later", async () => {
      let meanwhile: Timed | null = null;
      let late: Promise<Answer> | null = null;
      await whileStopped("logging", async () => {
        late = askLogs();
        meanwhile = await ask();
        expect(meanwhile.status).toBe(200);
        expect(meanwhile.tookMs).toBeLessThan(1_500);
      });
      if (late === null || meanwhile === null) throw new Error("nothing was asked");
      expect((await (late as Promise<Answer>)).status).toBe(200);
      expect(await recordOf(meanwhile)).toMatchObject({ status: 200 });
    });

    test("control: what is known goes on, what is not known is 503, and metric and log say that the edge is blind", async () => {
      expect((await ask("pc-saved")).status).toBe(200);
      await whileStopped("control", expectControlAway);
      await until("the edge to see", async () => !(await isBlind()));
      await said("control is watched again");
      expect((await askUnknown()).status).toBe(401);
    });

    test("connector: the request is given up when its time is over", async () => {
      await whileStopped("connector", async () => {
        const hung = await ask(two());
        expect([503, 504]).toContain(hung.status);
        expect(hung.tookMs).toBeLessThan(LONGEST_MS);
        expect(await recordOf(hung)).toMatchObject({ outcome: "failed", status: hung.status, option_path: "config.targets[0]" });
      });
      await until("an answer", async () => (await ask(two())).status === 200);
    });
  });

  async function expectControlAway(): Promise<void> {
    await until("the edge to be blind", isBlind);
    await said("no word from control; going on with what is known");
    const saved = await ask("pc-saved");
    expect(saved.status, saved.answer.text).toBe(200);
    expect(saved.tookMs).toBeLessThan(1_500);
    const refused = await askUnknown();
    expect([refused.status, refused.answer.error()["code"]]).toEqual([503, "identity_unavailable"]);
    expect(refused.tookMs).toBeLessThan(3_500);
    expect(await readiness()).toBe(200);
  }

  // One after the other and never back, so that the last ones are met by a gateway that has little left.
  describe("that is dead", () => {
    const PROMPT_MS = 1_500;
    let letLaunch = (): void => {};
    const meanwhile: Timed[] = [];

    test("policy: requests pass uncounted", async () => {
      letLaunch = stage.gateway.takeDown("policy");
      const passed = await until("requests to pass", async () => {
        const timed = await askLimited();
        return timed.status === 200 && timed;
      });
      expect(passed.tookMs).toBeLessThan(PROMPT_MS);
      await said("policy is unavailable; limits are not counted");
    });

    test("cache: every look-up is a miss, for streams too", async () => {
      stage.gateway.takeDown("cache");
      await until("a miss", async () => cacheStatus(await ask(cached())) === "MISS");
      const streamed = await ask(cached(), { stream: true });
      expect([cacheStatus(streamed), readStream(streamed.answer.text)]).toMatchObject(["MISS", { content: "ok", done: true }]);
      expect(streamed.tookMs).toBeLessThan(PROMPT_MS);
    });

    test("guardrail: its checks count as errors, which pass", async () => {
      expect((await ask(checked(), denied)).status).toBe(446);
      stage.gateway.takeDown("guardrail");
      const passed = await until("it to pass", async () => {
        const timed = await ask(checked(), denied);
        return timed.status === 200 && timed;
      });
      expect(passed.tookMs).toBeLessThan(PROMPT_MS);
      await said("guardrail is unavailable; its checks count as errored");
    });

    test("guardrail: a check with failOnError denies while the service is down", async () => {
      const strict = await ask(checked({ failOnError: true }), denied);
      expect([strict.status, stage.upstream.requests.length]).toEqual([446, 0]);
    });

    test("router: the edge plans alone, and the record says so", async () => {
      stage.gateway.takeDown("router");
      const alone = await until("an answer", async () => {
        const timed = await ask(balanced());
        return timed.status === 200 && (await degraded(timed)) === "router" && timed;
      });
      expect(alone.answer.headers["x-gateway-last-used-option-index"]).toBe("config.targets[0]");
      expect(alone.tookMs).toBeLessThan(PROMPT_MS);
      await said("router is unavailable; the edge plans alone");
    });

    test("control: what is known goes on, what is not known is 503", async () => {
      stage.gateway.takeDown("control");
      await expectControlAway();
    });

    test("logging: requests go on, and none of their records is dropped", async () => {
      stage.gateway.takeDown("logging");
      await until("the list to end", async () => (await askLogs()).status >= 500);
      for (let index = 0; index < 3; index++) meanwhile.push(await ask());
      expect(meanwhile.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(await metrics()).toMatch(/^unigate_log_records_dropped_total 0$/m);
    });

    test("logging: the list is 503 and names the service", async () => {
      const refused = await askLogs();
      expect(refused.status, refused.text).toBe(503);
      expect(refused.error()).toMatchObject({ code: "service_unavailable", message: expect.stringContaining("logging") as unknown });
    });

    test("connector: a stream ends in the error, a call is 503 without a fallback", async () => {
      stage.upstream.always(chatStreamReply(["first", new Promise(() => {})]));
      const connection = openConnection(stage.gateway);
      const body = JSON.stringify({ ...QUESTION, stream: true });
      const headers = { "x-gateway-api-key": known.key, "x-gateway-trace-id": "down-stream", ...withConfig(here()) };
      connection.write(
        requestHead("POST /v1/chat/completions", {
          ...headers,
          "content-type": "application/json",
          "content-length": String(body.length),
        }) + body,
      );
      await until("the first word", () => connection.received().includes("first"));
      stage.upstream.reset();
      stage.gateway.takeDown("connector");
      await until("the stream's end", () => connection.received().endsWith("0\r\n\r\n"));
      expect(connection.received()).toContain('"code":"service_unavailable"');
      expect(connection.received()).not.toContain("[DONE]");
      connection.leave();

      const refused = await ask(two());
      expect([refused.status, refused.answer.error()["code"]]).toEqual([503, "service_unavailable"]);
      expect(refused.answer.headers["x-gateway-last-used-option-index"]).toBe("config.targets[0]");
      expect(refused.tookMs).toBeLessThan(PROMPT_MS);
      await said("connector call failed");
      meanwhile.push(refused);
    });

    test("is started again, and everything is as before", async () => {
      letLaunch();
      await until("answers", async () => (await ask(two())).status === 200, RETURN_MS);
      await until("the router to plan", async () => (await degraded(await ask(balanced()))) === undefined, RETURN_MS);
      await until("hits", async () => cacheStatus(await ask(cached())) === "HIT", RETURN_MS);
      await until("denials", async () => (await ask(checked(), denied)).status === 446, RETURN_MS);
      await until("the limit", async () => (await askLimited()).status === 429, RETURN_MS);
      await until("the edge to see", async () => !(await isBlind()), RETURN_MS);
      expect((await ask("pc-saved", {}, stage.key)).status).toBe(200);
      expect((await askUnknown()).status).toBe(401);
      // What happened while there was no logging.
      const records = await Promise.all(meanwhile.map(recordOf));
      expect(records.map((record) => record?.["status"])).toEqual([200, 200, 200, 503]);
      expect(records.at(-1)).toMatchObject({ outcome: "failed", option_path: "config.targets[0]", error: { code: "service_unavailable" } });
      expect((await logsOf(stage.gateway, stage.key, "down-stream", 1))[0]).toMatchObject({ outcome: "failed", stream: true });
    });
  });
});

describe("control is not there at the start", () => {
  const stage = useStage("mesh", { env: { UNIGATE_CONTROL_ADDR: "127.0.0.1:9" } });

  test("the edge is not ready and says why, and lets nobody in unchecked", async () => {
    const ready = await send(stage.gateway, "/readyz");
    expect([ready.status, ready.json()]).toEqual([503, { status: "not_ready", reasons: ["edge: control: control has not answered yet"] }]);
    expect((await send(stage.gateway, "/healthz")).status).toBe(200);
    const answer = await chat(stage.gateway, makeGatewayKey(), { "x-gateway-provider": "mock" });
    expect([answer.status, answer.error()["code"]]).toEqual([503, "identity_unavailable"]);
  });
});
