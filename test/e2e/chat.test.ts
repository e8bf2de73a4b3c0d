import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  framedChunks,
  jsonReply,
  loadOwnRecordings,
  loadRecordings,
  type OwnCase,
  type OwnResult,
  type Recording,
  type Reply,
  replay,
  reply,
} from "@unigate/testkit";
import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { setups } from "./engines.ts";
import { withConfig } from "./http.ts";
import { openAi, type Seen, seenOf, seenOfStream } from "./sdk.ts";
import { useSharedStage } from "./shared-stage.ts";
import { expectSameInEveryMode } from "./stage.ts";

type Body = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;

const HELLO: Body = { model: "mock-1", messages: [{ role: "user", content: "How high is the tide?" }] };
const TOOLS: OpenAI.Chat.ChatCompletionTool[] = ["get_tide", "get_wind"].map((name) => ({
  type: "function",
  function: {
    name,
    parameters: { type: "object", properties: { place: { type: "string", enum: ["Vlissingen"] } }, required: ["place"] },
  },
}));

const WIRES = ["openai", "anthropic"];
const own = loadOwnRecordings(fileURLToPath(new URL("../../packages/providers/src", import.meta.url))).filter(({ provider }) =>
  WIRES.includes(provider),
);
const fixtures = process.env["UNIGATE_FIXTURES"] ?? fileURLToPath(new URL("../../../shared/fixtures", import.meta.url));
const recorded = existsSync(fixtures)
  ? loadRecordings(fixtures, ["chat", "chat-stream"])
      .filter(({ provider, status }) => WIRES.includes(provider) && status === 200)
      .filter(isChat)
  : [];

describe.each(setups)("chat, %s", (mode) => {
  const stage = useSharedStage(mode);

  describe("the mock provider", () => {
    const mock = () => openAi(stage.gateway, stage.key, { "x-gateway-provider": "mock" });

    test("answers, and a stream says the same", async () => {
      const whole = seenOf(await mock().chat.completions.create(HELLO));
      expect(whole.text).toContain("How high is the tide?");
      expect(whole.finishReason).toBe("stop");
      const streamed = await mock().chat.completions.create({ ...HELLO, stream: true, stream_options: { include_usage: true } });
      expect(await seenOfStream(streamed)).toEqual(whole);
      expectSameInEveryMode("mock", whole);
    });

    test("usage stands in a stream only when it was asked for", async () => {
      expect((await seenOfStream(await mock().chat.completions.create({ ...HELLO, stream: true }))).usage).toBeNull();
    });

    test("one tool, and several at once", async () => {
      const one = seenOf(await mock().chat.completions.create({ ...HELLO, tools: TOOLS, tool_choice: "required" }));
      expect(one.toolCalls.map(({ name }) => name)).toEqual(["get_tide"]);
      expect(JSON.parse(one.toolCalls[0]?.arguments ?? "")).toEqual({ place: "Vlissingen" });
      expect(one.finishReason).toBe("tool_calls");

      const both: Body = { ...HELLO, messages: [{ role: "user", content: "get_tide and get_wind, please" }], tools: TOOLS };
      const parallel = seenOf(await mock().chat.completions.create(both));
      expect(parallel.toolCalls.map(({ name }) => name)).toEqual(["get_tide", "get_wind"]);
      const streamed = await mock().chat.completions.create({ ...both, stream: true });
      expect((await seenOfStream(streamed)).toolCalls).toEqual(parallel.toolCalls);
      expectSameInEveryMode("mock tools", [one, parallel]);
    });

    test("a tool's answer is followed by text", async () => {
      const first = await mock().chat.completions.create({ ...HELLO, tools: TOOLS, tool_choice: "required" });
      const message = first.choices[0]?.message;
      if (message === undefined) throw new Error("no message");
      const id = message.tool_calls?.[0]?.id ?? "";
      const second = await mock().chat.completions.create({
        ...HELLO,
        tools: TOOLS,
        messages: [...HELLO.messages, message, { role: "tool", tool_call_id: id, content: "2.31 m" }],
      });
      expect(seenOf(second)).toMatchObject({ finishReason: "stop", toolCalls: [], text: expect.stringContaining("2.31 m") });
    });

    test("JSON mode, by type and by schema", async () => {
      const object = seenOf(await mock().chat.completions.create({ ...HELLO, response_format: { type: "json_object" } }));
      expect(JSON.parse(object.text ?? "")).toMatchObject({ answer: expect.stringContaining("tide") });
      const schema = { type: "object", properties: { metres: { type: "number" } }, required: ["metres"] };
      const shaped = await mock().chat.completions.create({
        ...HELLO,
        response_format: { type: "json_schema", json_schema: { name: "tide", schema } },
      });
      expect(JSON.parse(seenOf(shaped).text ?? "")).toEqual({ metres: expect.any(Number) });
    });

    test("an error has the status and the words of the provider", async () => {
      const failing = mock().chat.completions.create({ ...HELLO, model: "mock-error-429" });
      await expect(failing).rejects.toMatchObject({ status: 429, code: "mock_429" });
    });
  });

  describe("hand-written recordings", () => {
    for (const { provider, folder, chat, stream } of own) {
      test.each(chat.map((one) => [one.name, one] as const))(`${provider}: %s`, async (name, one) => {
        stage.upstream.script(jsonReply(one.answer));
        const seen = seenOf(await client(provider, one).chat.completions.create(one.request as unknown as Body));
        expectSent(one);
        expectSeen(seen, one.result);
        expectSameInEveryMode(`${provider} ${name}`, seen);
      });

      test.each(stream.map((one) => [one.name, one] as const))(`${provider} stream: %s`, async (name, one) => {
        stage.upstream.script(framed(folder, one));
        const seeing = client(provider, one)
          .chat.completions.create(one.request as unknown as OpenAI.Chat.ChatCompletionCreateParamsStreaming)
          .then(seenOfStream);
        if (one.result.failure !== undefined || one.result.done === false) {
          await expect(seeing).rejects.toThrow();
          return;
        }
        const seen = await seeing;
        expectSent(one);
        expectSeen(seen, one.result);
        expectSameInEveryMode(`${provider} stream ${name}`, seen);
      });
    }
  });

  test.skipIf(recorded.length === 0).each(recorded.map((one) => [`${one.provider} ${one.surface}: ${one.name}`, one] as const))(
    "recorded traffic is read by the SDK, %s",
    async (name, one) => {
      stage.upstream.script(replay(one));
      const headers = withConfig(target(one.provider));
      const sdk = openAi(stage.gateway, stage.key, headers);
      const body: Body = { ...HELLO, model: "recorded", max_tokens: 100 };
      const seen =
        one.surface === "chat"
          ? seenOf(await sdk.chat.completions.create(body))
          : await seenOfStream(await sdk.chat.completions.create({ ...body, stream: true, stream_options: { include_usage: true } }));
      expect(seen.finishReason).toMatch(/^(stop|length|tool_calls|content_filter|function_call)$/);
      expectSameInEveryMode(name, seen);
    },
  );

  function target(provider: string): object {
    return { provider, api_key: "sk-recorded", custom_host: `${stage.upstream.origin}/v1` };
  }

  function client(provider: string, one: OwnCase): OpenAI {
    const config = { ...target(provider), ...one.settings, ...(one.strict === undefined ? {} : { strict_compat_compliance: one.strict }) };
    return openAi(stage.gateway, stage.key, { ...withConfig(config), ...one.headers });
  }

  function expectSent(one: OwnCase): void {
    const sent = stage.upstream.requests[0];
    expect(sent?.url).toBe(`/v1${one.built.path}`);
    expect(JSON.parse(String(sent?.body))).toEqual(one.built.body);
    expect(sent?.headers).toMatchObject(one.built.headers ?? {});
  }
});

/** Some recordings of the folder are of other endpoints of the same provider, or errors with an assumed status. */
function isChat({ request, file, bytes }: Recording): boolean {
  if (!request.path.endsWith("/chat/completions") && request.path !== "/v1/messages") return false;
  return file !== "response.json" || (JSON.parse(bytes.toString("utf8")) as { error?: unknown }).error == null;
}

function framed(folder: string, one: OwnCase): Reply {
  return reply({ headers: { "content-type": "text/event-stream" }, pieces: [framedChunks(folder, one.chunks ?? "")] });
}

function expectSeen(seen: Seen, result: OwnResult): void {
  if (result.text !== undefined) expect(seen.text ?? "").toBe(result.text);
  if (result.toolCalls !== undefined) expect(seen.toolCalls).toEqual(result.toolCalls);
  if (result.finishReason !== undefined) expect(seen.finishReason).toBe(result.finishReason);
  if (result.model !== undefined) expect(seen.model).toBe(result.model);
  if (result.clientUsage !== undefined) expect(seen.usage).toMatchObject(result.clientUsage);
}
