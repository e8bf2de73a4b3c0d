import { readFileSync } from "node:fs";
import { checks } from "@unigate/checks";
import type { JsonObject } from "@unigate/core";
import { chatReply, chatStreamReply, errorReply, gatewayModes, jsonReply, type Script, until } from "@unigate/testkit";
import { Portkey } from "portkey-ai";
import { describe, expect, test } from "vitest";
import { logsOf } from "./logs.ts";
import { printedExamples } from "./printed-examples.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey } from "./stage.ts";

const MOVER = declaredKey("comes from another gateway");
const QUESTION = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };
const [theirs = "", ours = ""] = printedExamples("MIGRATION.md", "From Portkey")
  .filter(({ title, language }) => title === "Example" && language === "json")
  .map(({ text }) => text);

type Options = ConstructorParameters<typeof Portkey>[0];

/** What the SDK throws for an answer that is no success. */
interface Refusal {
  readonly status: number;
  readonly error: { readonly error: JsonObject };
  readonly headers: Readonly<Record<string, string>>;
}

test("MIGRATION.md names every check that there is, and no other", () => {
  const page = readFileSync(new URL("../../MIGRATION.md", import.meta.url), "utf8");
  const named = [...page.matchAll(/^\| `(default\.\w+)`/gm)].map(([, id]) => id);
  expect(new Set(named)).toEqual(new Set(checks.map(({ id }) => id)));
});

describe.each(gatewayModes)("the portkey-ai SDK, %s", (mode) => {
  const stage = useSharedStage(mode, ({ origin }) => ({
    keys: [MOVER],
    providers: [
      { slug: "openai-prod", provider: "openai", api_key: "sk-openai", custom_host: `${origin}/openai` },
      { slug: "anthropic-prod", provider: "anthropic", api_key: "sk-anthropic", custom_host: `${origin}/anthropic` },
    ],
    configs: [{ id: "pc-declared", config: { provider: "@openai-prod", cache: "simple", override_params: { seed: 1 } } }],
  }));
  const client = (options: Options = {}): Portkey => new Portkey({ baseURL: stage.gateway.baseUrl, apiKey: MOVER.key, ...options });
  const ask = (options: Options, body: object = {}) => client(options).chat.completions.create({ ...QUESTION, ...body, stream: false });
  const sent = (index = 0): JsonObject => JSON.parse(String(stage.upstream.requests[index]?.body)) as JsonObject;
  const received = (): string[] => stage.upstream.requests.map(({ url }) => url);
  const refusalOf = async (asked: Promise<unknown>): Promise<Refusal> =>
    asked.then(
      () => Promise.reject(new Error("it was answered")),
      (error: unknown) => error as Refusal,
    );

  test("a virtual key, unary and as a stream", async () => {
    stage.upstream.script(chatReply("whole"), chatStreamReply(["in ", "parts"]));
    const whole = await ask({ virtualKey: "openai-prod" });
    expect(whole.choices?.[0]?.message?.content).toBe("whole");
    expect(whole.usage).toMatchObject({ total_tokens: 12 });
    let text = "";
    const stream = await client({ virtualKey: "openai-prod" }).chat.completions.create({ ...QUESTION, stream: true });
    for await (const chunk of stream) text += (chunk.choices?.[0] as { delta?: { content?: string } } | undefined)?.delta?.content ?? "";
    expect(text).toBe("in parts");
    expect(stage.upstream.requests[0]?.headers).toMatchObject({ authorization: "Bearer sk-openai" });
    expect(stage.upstream.requests.flatMap(({ rawHeaders }) => rawHeaders).join(" ")).not.toMatch(/portkey|ugw-/i);
  });

  test("a provider and its own credential", async () => {
    stage.upstream.script(chatReply("ok"));
    await ask({ provider: "openai", Authorization: "Bearer sk-mine", customHost: `${stage.upstream.origin}/mine` });
    expect(received()).toEqual(["/mine/chat/completions"]);
    expect(stage.upstream.requests[0]?.headers).toMatchObject({ authorization: "Bearer sk-mine" });
  });

  test("metadata and trace id are in the log; a saved config is found by its id", async () => {
    stage.upstream.script(chatReply("ok"));
    const traceID = `moved-${mode}`;
    await ask({ config: "pc-declared", traceID, metadata: { _user: "ann", team: "web" } });
    expect(sent()).toMatchObject({ seed: 1 });
    const [record] = await logsOf(stage.gateway, MOVER.key, traceID, 1);
    expect(record).toMatchObject({ trace_id: traceID, metadata: { _user: "ann", team: "web" } });
  });

  test("a forced refresh goes past the cache", async () => {
    stage.upstream.always(chatReply("ok"));
    const fresh = { ...QUESTION, user: `refresh-${mode}` };
    await ask({ config: "pc-declared" }, fresh);
    await until("an answer from the cache", async () => {
      const before = received().length;
      await ask({ config: "pc-declared" }, fresh);
      return received().length === before;
    });
    const before = received().length;
    await ask({ config: "pc-declared", cacheForceRefresh: true }, fresh);
    expect(received().length).toBe(before + 1);
  });

  test("errors: a bad key, a bad config, a provider's own", async () => {
    const noKey = await refusalOf(ask({ apiKey: "not-one-of-ours", virtualKey: "openai-prod" }));
    expect([noKey.status, noKey.error.error]).toMatchObject([401, { code: "invalid_key", type: "authentication_error" }]);
    const config = { strategy: { mode: "fallbak" }, targets: [{ virtual_key: "openai-prod" }] };
    const badConfig = await refusalOf(ask({ config }));
    expect([badConfig.status, badConfig.error.error]).toMatchObject([400, { code: "invalid_config", param: "strategy.mode" }]);
    const unknown = await refusalOf(ask({ virtualKey: "nobody" }));
    expect([unknown.status, unknown.error.error]).toMatchObject([400, { code: "unknown_provider" }]);
    expect(received()).toEqual([]);
    stage.upstream.always(errorReply(429, "slow down"));
    const busy = await refusalOf(ask({ virtualKey: "openai-prod" }));
    expect([busy.status, busy.error.error]).toMatchObject([429, { code: "scripted" }]);
    expect(busy.headers["x-gateway-provider"]).toBe("openai");
  });

  test("what MIGRATION.md says of getHeaders and of answers of 500 and above", async () => {
    stage.upstream.script(chatReply("ok"), errorReply(500, "broken"), chatReply("again"));
    expect((await ask({ virtualKey: "openai-prod" })).getHeaders()).toEqual({});
    expect((await ask({ virtualKey: "openai-prod" })).choices?.[0]?.message?.content).toBe("again");
    expect(received()).toHaveLength(3);
  });

  describe("the example of MIGRATION.md", () => {
    const busy = errorReply(429, "busy", { "retry-after-ms": "1" });
    const claude = jsonReply({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-test",
      content: [{ type: "text", text: "second" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 9, output_tokens: 3 },
    });
    const script: Script = ({ url }) => (url.startsWith("/openai/") ? busy : claude);

    test.each([
      ["Portkey's", "sent inline", theirs],
      ["ours", "sent inline", ours],
      ["Portkey's", "saved by the SDK", theirs],
      ["ours", "saved by the SDK", ours],
    ])("%s, %s", async (whose, how, text) => {
      const config = JSON.parse(text) as JsonObject;
      let used: JsonObject | string = config;
      if (how === "saved by the SDK") {
        const saved = (await client().configs.create({ name: `${whose} example`, config })) as { data?: { slug?: string } };
        used = saved.data?.slug ?? "";
        expect(used).toMatch(/^pc-/);
      }
      stage.upstream.always(script);
      const body = { ...QUESTION, messages: [{ role: "user", content: `${whose} ${how}` }] };
      const answer = await ask({ config: used }, body);
      expect(answer.choices?.[0]?.message?.content).toBe("second");
      expect(received()).toEqual(["/openai/chat/completions", "/openai/chat/completions", "/anthropic/messages"]);
      expect(stage.upstream.requests[0]?.headers).toMatchObject({ "openai-organization": "org-acme" });
      expect([sent(0), sent(2)]).toMatchObject([{ model: "gpt-4.1" }, { model: "claude-sonnet-4-5", max_tokens: 2048 }]);
      const ofAnthropic = (): number => received().filter((url) => url.startsWith("/anthropic/")).length;
      await until("an answer from the cache", async () => {
        const before = ofAnthropic();
        await ask({ config: used }, body);
        return ofAnthropic() === before;
      });
    });
  });
});
