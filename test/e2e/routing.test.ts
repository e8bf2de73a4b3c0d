import { chatReply, chatStreamReply, cutReply, errorReply, gatewayModes, hangReply, type Reply, type Script } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { type Answer, chat, QUESTION, readStream, send, target, toUpstream, withConfig } from "./http.ts";
import { useSharedStage } from "./shared-stage.ts";
import { expectSameInEveryMode } from "./stage.ts";

/** Answers by the first segment of the path, each from its own list. */
function byFirstSegment(lists: Readonly<Record<string, readonly Reply[]>>): Script {
  const left = new Map(Object.entries(lists).map(([segment, replies]) => [segment, [...replies]]));
  return ({ url }) => left.get(url.split("/")[1] ?? "")?.shift() ?? errorReply(500, `nothing is left for ${url}`);
}

describe.each(gatewayModes)("routing, %s", (mode) => {
  const stage = useSharedStage(mode, ({ origin }) => ({
    providers: [{ slug: "saved", provider: "openai", api_key: "sk-saved", custom_host: `${origin}/v1` }],
    configs: [
      {
        id: "pc-two",
        config: { strategy: { mode: "fallback" }, targets: [{ provider: "@saved" }, { provider: "@saved", name: "second" }] },
      },
    ],
  }));

  function ask(config: object, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return chat(stage.gateway, stage.key, { ...withConfig(config), ...headers }, body);
  }
  const here = (over: object = {}): Record<string, unknown> => target(stage.upstream.origin, over);
  const at = (segment: string, over: object = {}): Record<string, unknown> =>
    here({ custom_host: `${stage.upstream.origin}/${segment}/v1`, ...over });
  const fallback = (targets: object[], strategy: object = {}): object => ({ strategy: { mode: "fallback", ...strategy }, targets });

  function expectAnswer(answer: Answer, status: number, option: string, tries: number): void {
    expect({ status: answer.status, option: answer.headers["x-gateway-last-used-option-index"] }, answer.text).toEqual({ status, option });
    expect(stage.upstream.requests.length).toBe(tries);
    expectSameInEveryMode(expect.getState().currentTestName?.replace(/, (single|mesh)/, "") ?? "", [status, option, answer.text]);
  }

  describe("fallback", () => {
    test("goes on after any status that is no success", async () => {
      stage.upstream.script(errorReply(400, "first"), errorReply(503, "second"), chatReply("third"));
      expectAnswer(await ask(fallback([here(), here(), here()])), 200, "config.targets[2]", 3);
    });

    test("the last answer is the answer", async () => {
      stage.upstream.script(errorReply(500, "first"), errorReply(418, "second"));
      const answer = await ask(fallback([here(), here()]));
      expectAnswer(answer, 418, "config.targets[1]", 2);
      expect(answer.error()["message"]).toContain("second");
    });

    test.each([
      [429, 200, 2],
      [500, 500, 1],
    ])("with on_status_codes [429], a %i", async (first, status, tries) => {
      stage.upstream.script(errorReply(first, "first"), chatReply("second"));
      const answer = await ask(fallback([here(), here()], { on_status_codes: [429] }));
      expectAnswer(answer, status, `config.targets[${tries - 1}]`, tries);
    });

    test("an empty list never goes on", async () => {
      stage.upstream.script(errorReply(500, "first"));
      expectAnswer(await ask(fallback([here(), here()], { on_status_codes: [] })), 500, "config.targets[0]", 1);
    });

    test("a target's own list decides when it is left", async () => {
      stage.upstream.script(errorReply(500, "first"), errorReply(500, "second"));
      const answer = await ask(fallback([here({ on_status_codes: [500] }), here(), here()], { on_status_codes: [429] }));
      expectAnswer(answer, 500, "config.targets[1]", 2);
    });

    test("targets that cannot be used are left like any that fail", async () => {
      stage.upstream.script(chatReply("ok"));
      const unusable = [{ provider: "opnai", api_key: "x" }, { provider: "@nobody" }, { provider: "openai" }, { prompt_id: "pp-1" }];
      expectAnswer(await ask(fallback([...unusable, here()])), 200, "config.targets[4]", 1);
    });

    test("a target none of whose deployments stands for the model is left; one that has it, or a default, is used", async () => {
      const deployment = (alias: string, over: object = {}) => ({ deployment_id: "d", alias, api_version: "v", ...over });
      const other = here({ deployments: [deployment("other")] });
      const refused = await ask(other);
      expect([refused.status, refused.error()["code"]]).toEqual([400, "unknown_deployment"]);
      stage.upstream.script(chatReply("ok"));
      const own = here({ deployments: [deployment("other"), deployment(QUESTION.model)] });
      expectAnswer(await ask(fallback([other, own])), 200, "config.targets[1]", 1);
      stage.upstream.script(chatReply("ok"));
      expect((await ask(here({ deployments: [deployment("other", { is_default: true })] }))).status).toBe(200);
    });

    test("an upstream that cannot be reached, and one that hangs up", async () => {
      stage.upstream.script(cutReply(), chatReply("ok"));
      const answer = await ask(fallback([here({ custom_host: "http://127.0.0.1:9/v1" }), here(), here()]));
      expectAnswer(answer, 200, "config.targets[2]", 2);
    });

    test("nested in both ways", async () => {
      stage.upstream.script(errorReply(500, "a"), errorReply(500, "b"), chatReply("c"));
      const inner = fallback([here(), here()]);
      const config = fallback([
        inner,
        { strategy: { mode: "loadbalance" }, targets: [here({ weight: 0 }), fallback([here({ weight: 0 })], {}), here({ weight: 0 })] },
      ]);
      const zero = await ask(config);
      expect(zero.status).toBe(200);
      expect(zero.headers["x-gateway-last-used-option-index"]).toBe("config.targets[1].targets[1].targets[0]");
    });

    test("a saved config", async () => {
      stage.upstream.script(errorReply(500, "first"), chatReply("second"));
      const answer = await chat(stage.gateway, stage.key, { "x-gateway-config": "pc-two" });
      expectAnswer(answer, 200, "config.targets[1]", 2);
    });

    test("the same bytes go to every target", async () => {
      stage.upstream.script(errorReply(500, "first"), chatReply("second"));
      const body = '{ "model":"gpt-test",  "messages":[{"role":"user","content":"\\u00e9 \u{1F30A}"}], "big": 12345678901234567890 }';
      const headers = { "x-gateway-api-key": stage.key, ...withConfig(fallback([here(), here()])), "content-type": "application/json" };
      await send(stage.gateway, "/v1/chat/completions", { headers, body });
      expect(stage.upstream.requests.map((request) => String(request.body))).toEqual([body, body]);
    });
  });

  test("load balancing never chooses weight 0, and a weight alone gets all", async () => {
    stage.upstream.always(chatReply("ok"));
    const config = { strategy: { mode: "loadbalance" }, targets: [here({ weight: 0 }), here({ weight: 0.3 }), here({ weight: 0 })] };
    for (let index = 0; index < 20; index++)
      expect((await ask(config)).headers["x-gateway-last-used-option-index"]).toBe("config.targets[1]");
  });

  test("load balancing uses every target that has a weight", async () => {
    stage.upstream.always(chatReply("ok"));
    const config = { strategy: { mode: "loadbalance" }, targets: [here({ weight: 1 }), here()] };
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(config)));
    const used = new Set(answers.map((answer) => answer.headers["x-gateway-last-used-option-index"]));
    expect(used).toEqual(new Set(["config.targets[0]", "config.targets[1]"]));
  });

  test("there is no fallback inside load balancing", async () => {
    stage.upstream.script(errorReply(500, "first"));
    expectAnswer(await ask({ strategy: { mode: "loadbalance" }, targets: [here({ weight: 0 }), here()] }), 500, "config.targets[1]", 1);
  });

  test("single takes the first target", async () => {
    stage.upstream.script(chatReply("ok"));
    expectAnswer(await ask({ strategy: { mode: "single" }, targets: [here(), here()] }), 200, "config.targets[0]", 1);
  });

  test("a passthrough target goes where the request says", async () => {
    stage.upstream.script(errorReply(500, "first"), chatReply("second"));
    const answer = await ask(fallback([here(), { passthrough: true }]), { model: "@saved/gpt-test" });
    expectAnswer(answer, 200, "config.targets[1]", 2);
    expect(stage.upstream.requests[1]?.headers["authorization"]).toBe("Bearer sk-saved");
  });

  test.each<[string, object, object, Record<string, string>, number, string]>([
    ["the header names a saved provider", {}, {}, { "x-gateway-provider": "@saved" }, 200, "Bearer sk-saved"],
    ["the model names one", {}, { model: "@saved/gpt-test" }, {}, 200, "Bearer sk-saved"],
    ["the header wins over the model", {}, { model: "@nobody/gpt-test" }, { "x-gateway-provider": "@saved" }, 200, "Bearer sk-saved"],
    ["the older header names one", {}, {}, { "x-gateway-virtual-key": "saved" }, 200, "Bearer sk-saved"],
    ["the target's own provider means nothing", { provider: "@nobody" }, {}, { "x-gateway-provider": "@saved" }, 200, "Bearer sk-saved"],
    ["nothing names one", {}, {}, {}, 400, "provider_required"],
    ["the model of Workers AI names none", {}, { model: "@cf/meta/llama" }, {}, 400, "provider_required"],
    ["nobody knows the one that is named", {}, {}, { "x-gateway-provider": "@nobody" }, 400, "unknown_provider"],
  ])("a passthrough, at the top and in a target: %s", async (_, over, body, headers, status, expected) => {
    stage.upstream.always(chatReply("ok"));
    const passthrough = { passthrough: true, ...over };
    for (const config of [passthrough, { strategy: { mode: "single" }, targets: [passthrough] }]) {
      const answer = await ask(config, body, headers);
      const said = status === 200 ? stage.upstream.requests.at(-1)?.headers["authorization"] : answer.error()["code"];
      expect([answer.status, said], answer.text).toEqual([status, expected]);
    }
  });

  describe("retry", () => {
    const soon = { "retry-after-ms": "5" };
    const retry = (attempts: number, more: object = {}): object => ({
      retry: { attempts, use_retry_after_headers: true, ...more },
    });
    const expectCount = (answer: Answer, count: string): void =>
      expect(answer.headers["x-gateway-retry-attempt-count"], answer.text).toBe(count);

    test("0 when the first call succeeds, 0 when nothing was to be retried", async () => {
      stage.upstream.script(chatReply("ok"), errorReply(400, "no"), errorReply(500, "no"));
      expectCount(await ask(here(retry(3))), "0");
      expectCount(await ask(here(retry(3))), "0");
      expectCount(await ask(here()), "0");
      expect(stage.upstream.requests.length).toBe(3);
    });

    test("counts up to the one that succeeds, following the provider's waits", async () => {
      stage.upstream.script(errorReply(429, "a", soon), errorReply(429, "b", { "retry-after": "0" }), chatReply("ok"));
      const answer = await ask(here(retry(3)));
      expectAnswer(answer, 200, "config", 3);
      expectCount(answer, "2");
    });

    test("-1 when all are used up, with the last status", async () => {
      stage.upstream.always(errorReply(429, "slow down", soon));
      const answer = await ask(here(retry(2)));
      expectAnswer(answer, 429, "config", 3);
      expectCount(answer, "-1");
      expect(answer.headers["retry-after"]).toBe("1");
    });

    test("at most 5, however many were asked for", async () => {
      stage.upstream.always(errorReply(429, "slow down", soon));
      expectAnswer(await ask(here(retry(50))), 429, "config", 6);
    });

    test.each([{ "retry-after": "60" }, { "retry-after-ms": "60000" }, { "retry-after": "86400" }])(
      "a wait that is too long ends it at once: %j",
      async (headers: Record<string, string>) => {
        stage.upstream.always(errorReply(429, "tomorrow", headers));
        const answer = await ask(here(retry(3)));
        expectCount(answer, "-1");
        expect(stage.upstream.requests.length).toBe(1);
      },
    );

    test("only on the listed codes", async () => {
      stage.upstream.script(errorReply(500, "a", soon));
      expectAnswer(await ask(here(retry(2, { on_status_codes: [429] }))), 500, "config", 1);
    });

    test("back-off, the provider's second, a reset, and none on a stream that began", async () => {
      stage.upstream.always(
        byFirstSegment({
          backoff: [errorReply(500, "a"), chatReply("backoff")],
          second: [errorReply(429, "a", { "retry-after": "1" }), chatReply("second")],
          ignored: [errorReply(429, "a", { "retry-after": "5" }), chatReply("ignored")],
          reset: [cutReply(), chatReply("reset")],
          streamed: [errorReply(503, "a"), chatStreamReply(["streamed"])],
        }),
      );
      const timed = async (segment: string, config: object, body: object = {}): Promise<[string, number]> => {
        const started = performance.now();
        const answer = await ask(at(segment, config), body);
        expect(answer.status, answer.text).toBe(200);
        expectCount(answer, "1");
        return [answer.text, performance.now() - started];
      };
      const answers = await Promise.all([
        timed("backoff", retry(1)),
        timed("second", retry(1)),
        timed("ignored", { retry: { attempts: 1 } }),
        timed("reset", { retry: { attempts: 1, on_status_codes: [429] } }),
        timed("streamed", retry(1), { stream: true }),
      ]);
      for (const [text, tookMs] of answers) {
        expect(text).toMatch(/backoff|second|ignored|reset|streamed/);
        expect(tookMs).toBeGreaterThan(490);
        expect(tookMs).toBeLessThan(4_000);
      }
    });

    test.each([
      ["denies", true, 446],
      ["fails softly", false, 246],
    ])("a check that %s is tried again when its status is listed, and forgotten when the next try passes", async (_, deny, status) => {
      stage.upstream.script(chatReply("bad words"), chatReply("good words"), chatReply("bad words"));
      const check = { output_guardrails: [{ "default.contains": { operator: "none", words: ["bad"] }, deny }] };
      const good = await ask(here({ ...check, ...retry(1, { on_status_codes: [status] }) }));
      expect([good.status, good.text], good.text).toEqual([200, expect.stringContaining("good words")]);
      expectCount(good, "1");
      const bad = await ask(here({ ...check, ...retry(1) }));
      expect([bad.status, bad.headers["x-gateway-retry-attempt-count"]]).toEqual([status, "0"]);
    });

    test("a check's soft failure is a reason to leave a target when its status is listed", async () => {
      stage.upstream.script(chatReply("bad words"), chatReply("second"));
      const check = { output_guardrails: [{ "default.contains": { operator: "none", words: ["bad"] }, deny: false }] };
      expectAnswer(await ask(fallback([here(check), here()], { on_status_codes: [246] })), 200, "config.targets[1]", 2);
    });

    test("comes before fallback; the answer counts its own target's retries", async () => {
      stage.upstream.script(errorReply(429, "a", soon), errorReply(429, "b", soon), errorReply(429, "c", soon), chatReply("ok"));
      const answer = await ask({ ...fallback([here(), here()]), ...retry(1) });
      expectAnswer(answer, 200, "config.targets[1]", 4);
      expectCount(answer, "1");
    });
  });

  describe("request_timeout", () => {
    const LONGEST = 2 ** 31 - 1;
    const MESSAGE = (ms: number): string => `Request exceeded the timeout sent in the request: ${ms}ms`;

    test("is 408 and closes the upstream's connection", async () => {
      stage.upstream.script(hangReply());
      const answer = await ask(here({ request_timeout: 80 }));
      expectAnswer(answer, 408, "config", 1);
      expect(answer.error()).toMatchObject({ message: MESSAGE(80), type: "timeout_error", code: "request_timeout", param: null });
      await stage.upstream.closed(0);
    });

    test("is a reason for fallback, and not for retry", async () => {
      stage.upstream.script(hangReply(), chatReply("ok"));
      const config = { ...fallback([here({ request_timeout: 80 }), here()]), retry: { attempts: 2 } };
      expectAnswer(await ask(config), 200, "config.targets[1]", 2);
    });

    test("the header goes before the config", async () => {
      stage.upstream.script(hangReply());
      const answer = await ask(here({ request_timeout: 60_000 }), {}, { "x-gateway-request-timeout": "60" });
      expect([answer.status, answer.error()["message"]]).toEqual([408, MESSAGE(60)]);
    });

    test.each([true, false])("is over when the head has come (stream: %s)", async (stream) => {
      const body = stream ? chatStreamReply(["a", 300, "b"]) : chatReply("ab");
      stage.upstream.script({ ...body, pieces: stream ? body.pieces : [300, ...body.pieces] });
      const answer = await ask(here({ request_timeout: 150 }), { stream });
      expect(answer.status).toBe(200);
      if (stream) expect(readStream(answer.text)).toMatchObject({ content: "ab", done: true });
    });

    test("holds for streams until their head", async () => {
      stage.upstream.script(hangReply());
      expect((await ask(here({ request_timeout: 80 }), { stream: true })).status).toBe(408);
    });

    test("no time limit is too long for the timers", async () => {
      stage.upstream.script(chatStreamReply(["ok"]));
      const timeouts = { connect_ms: LONGEST, first_token_ms: LONGEST, idle_ms: LONGEST };
      const answer = await ask(here({ request_timeout: LONGEST, timeouts }), { stream: true });
      expect(readStream(answer.text), answer.text).toMatchObject({ content: "ok", done: true });
    });
  });

  describe("what is sent", () => {
    const sentBody = (): unknown => JSON.parse(String(stage.upstream.requests[0]?.body));

    test("default, then override, then drop", async () => {
      stage.upstream.always(chatReply("ok"));
      const config = here({
        default_params: { temperature: 0.1, seed: 1, top_p: 0.5 },
        override_params: { seed: 2, user: "forced", metadata: { a: 1, b: [1, 2] } },
        drop_params: ["top_p", "metadata.b[0]", "messages[*].name", "not.there[3]"],
      });
      await ask(config, { temperature: 0.9, user: "own", messages: [{ role: "user", content: "x", name: "n" }] });
      expect(sentBody()).toEqual({
        model: "gpt-test",
        messages: [{ role: "user", content: "x" }],
        temperature: 0.9,
        user: "forced",
        seed: 2,
        metadata: { a: 1, b: [2] },
      });
    });

    test("targets inherit and override by key", async () => {
      stage.upstream.script(chatReply("ok"));
      const strategy = { strategy: { mode: "single" }, override_params: { seed: 1, user: "root" }, drop_params: ["top_p"] };
      await ask({ ...strategy, targets: [here({ override_params: { seed: 2 } })] }, { top_p: 1 });
      expect(sentBody()).toEqual({ ...QUESTION, seed: 2, user: "root" });
    });

    test("each target shapes the client's own body anew", async () => {
      stage.upstream.script(errorReply(500, "no"), chatReply("ok"));
      await ask(fallback([here({ override_params: { seed: 1 } }), here({ override_params: { user: "u" } })]));
      const bodies = stage.upstream.requests.map((request) => JSON.parse(String(request.body)) as unknown);
      expect(bodies).toEqual([
        { ...QUESTION, seed: 1 },
        { ...QUESTION, user: "u" },
      ]);
    });

    test("override_params decides whether it is a stream", async () => {
      stage.upstream.script(chatStreamReply(["forced"]));
      const answer = await ask(here({ override_params: { stream: true } }));
      expect(answer.headers["content-type"]).toContain("text/event-stream");
      expect(readStream(answer.text)).toMatchObject({ content: "forced", done: true });
    });

    test("parameters that nobody knows go on as they are", async () => {
      stage.upstream.script(chatReply("ok"));
      await ask(here(), { x_new: { deep: [1, null, "é"] } });
      expect(sentBody()).toEqual({ ...QUESTION, x_new: { deep: [1, null, "é"] } });
    });

    test.each([
      ["/v1/", "/v1/chat/completions"],
      ["/v1?tenant=a", "/v1/chat/completions?tenant=a"],
      ["/", "/chat/completions"],
      ["", "/chat/completions"],
      ["/deep/er/v9/", "/deep/er/v9/chat/completions"],
    ])("custom host with %j calls %s", async (suffix, path) => {
      stage.upstream.script(chatReply("ok"));
      const headers = toUpstream(stage.upstream.origin, { "x-gateway-custom-host": stage.upstream.origin + suffix });
      expect((await chat(stage.gateway, stage.key, headers)).status).toBe(200);
      expect(stage.upstream.requests[0]?.url).toBe(path);
    });

    test("numbers that no token count can be do not harm", async () => {
      stage.upstream.always(chatReply("ok"));
      const config = { strategy: { mode: "loadbalance", select: "least_latency" }, targets: [here(), here()] };
      const headers = { "x-gateway-api-key": stage.key, ...withConfig(config) };
      for (const max_tokens of [-1, 1.5, 5e9, 9e15]) {
        const answer = await send(stage.gateway, "/v1/generate", { headers, body: { max_tokens } });
        expect(answer.status, answer.text).toBe(200);
      }
      expect(stage.gateway.output()).not.toContain("router is unavailable");
    });
  });
});
