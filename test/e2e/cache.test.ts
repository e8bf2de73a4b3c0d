import { CHAT_USAGE, chatChunk, chatCompletion, chatReply, chatStreamReply, errorReply, sseReply, until } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { setups } from "./engines.ts";
import { type Answer, chat, readStream, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { openAi, seenOf, seenOfStream } from "./sdk.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey, expectSameInEveryMode } from "./stage.ts";

const LONG = "Words that fill more than one piece. ".repeat(40);

describe.each(setups)("the cache, %s", (mode) => {
  const neighbour = declaredKey("neighbour of the cache", { workspace: "ws-neighbour" });
  const stranger = declaredKey("stranger to the cache", { organisation: "org-stranger" });
  const stage = useSharedStage(mode, () => ({ keys: [neighbour, stranger] }));
  let number = 0;

  /** A question that no test asked before. */
  function fresh(): object {
    return { messages: [{ role: "user", content: `question ${number++}` }] };
  }
  const cached = (over: object = {}): Record<string, unknown> =>
    target(stage.upstream.origin, { cache: { mode: "simple", max_age: 600 }, ...over });

  function ask(body: object, headers: Record<string, string> = {}, key = stage.key, config: object = cached()): Promise<Answer> {
    return chat(stage.gateway, key, { ...withConfig(config), ...headers }, body);
  }
  const statusOf = (answer: Answer): unknown => answer.headers["x-gateway-cache-status"];

  /** Asks until the answer is in the cache: it is stored after the first one was sent. */
  function hit(...question: Parameters<typeof ask>): Promise<Answer> {
    return until("a hit", async () => {
      const answer = await ask(...question);
      return statusOf(answer) === "HIT" && answer;
    });
  }

  /** A hit of what is stored already: a look-up that takes too long is a miss, and no answer is one to store now. */
  function stillHit(...question: Parameters<typeof ask>): Promise<Answer> {
    stage.upstream.always(errorReply(500, "nothing to store"));
    return until("a hit without the upstream", async () => {
      const tries = stage.upstream.requests.length;
      const answer = await ask(...question);
      return statusOf(answer) === "HIT" && stage.upstream.requests.length === tries && answer;
    });
  }

  test("a miss, then a hit with the same answer and without the upstream", async () => {
    stage.upstream.always(chatReply("stored"));
    const question = fresh();
    const missed = await ask(question);
    expect([missed.status, statusOf(missed)]).toEqual([200, "MISS"]);
    const found = await hit(question);
    const again = await stillHit(question);
    expect(again.status).toBe(200);
    expect(again.json()).toEqual(missed.json());
    expect(found.text).toBe(again.text);
    expect(again.headers["x-gateway-retry-attempt-count"]).toBe("0");
    expect(again.headers["content-type"]).toBe("application/json");
    expectSameInEveryMode("hit", again.json());

    const [record] = await logsOf(stage.gateway, stage.key, String(again.headers["x-gateway-trace-id"]), 1);
    expect(record).toMatchObject({ outcome: "cache_hit", cache_status: "HIT", status: 200, usage: null, provider: "openai" });
    const [first] = await logsOf(stage.gateway, stage.key, String(missed.headers["x-gateway-trace-id"]), 1);
    expect(first).toMatchObject({ outcome: "success", cache_status: "MISS", usage: { input: 9, output_text: 3 } });
  });

  test("is off unless the config turns it on, and for requests that want no trace of them", async () => {
    stage.upstream.always(chatReply("never stored"));
    const question = fresh();
    const plain = target(stage.upstream.origin);
    const untraced = { "x-gateway-debug": "false" };
    const answers = [
      await ask(question, {}, stage.key, plain),
      await ask(question, {}, stage.key, plain),
      await ask(question, untraced),
      await ask(question, untraced),
    ];
    expect(answers.map(statusOf)).toEqual(["DISABLED", "DISABLED", "DISABLED", "DISABLED"]);
    expect(stage.upstream.requests.length).toBe(4);
  });

  test("a refresh asks the upstream and stores its answer anew", async () => {
    const question = fresh();
    stage.upstream.always(chatReply("old"));
    await hit(question);
    stage.upstream.always(chatReply("new"));
    const refreshed = await ask(question, { "x-gateway-cache-force-refresh": "true" });
    expect(statusOf(refreshed)).toBe("REFRESH");
    expect(refreshed.text).toContain("new");
    expect((await hit(question)).text).toContain("new");
    expect((await stillHit(question, { "x-gateway-cache-force-refresh": "false" })).text).toContain("new");
  });

  test("a stream is served from an answer that was none", async () => {
    stage.upstream.always(chatReply(LONG));
    const question = fresh();
    await hit(question);
    const answer = await stillHit({ ...question, stream: true });
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "text/event-stream; charset=utf-8"]);
    const { content, chunks, done } = readStream(answer.text);
    expect({ content, done }).toEqual({ content: LONG, done: true });
    expect(chunks.every((chunk) => chunk["object"] === "chat.completion.chunk" && chunk["id"] === "chatcmpl-upstream")).toBe(true);
    expect(chunks.length).toBeGreaterThan(LONG.length / 500);

    const sdk = openAi(stage.gateway, stage.key, withConfig(cached()));
    const stream = await sdk.chat.completions.create({
      model: "gpt-test",
      messages: [{ role: "user", content: (question as { messages: { content: string }[] }).messages[0]?.content ?? "" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(await seenOfStream(stream)).toMatchObject({ text: LONG, finishReason: "stop", model: "gpt-test", usage: CHAT_USAGE });
  });

  test("an answer is served from a stream", async () => {
    stage.upstream.always(({ body }) =>
      String(body).includes('"stream":true') ? chatStreamReply(["one, ", "two"]) : errorReply(500, "no"),
    );
    const question = fresh();
    const streamed = await ask({ ...question, stream: true });
    expect([statusOf(streamed), readStream(streamed.text).content]).toEqual(["MISS", "one, two"]);
    const answer = await hit(question);
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: "one, two" }, finish_reason: "stop" }],
      usage: CHAT_USAGE,
    });
    expectSameInEveryMode("an answer from a stream", { ...answer.json(), created: 0 });
  });

  test("tool calls come back as they went in, either way", async () => {
    const calls = [{ id: "call_1", type: "function", function: { name: "look", arguments: '{"at":"é"}' } }];
    const message = { role: "assistant", content: null, tool_calls: calls };
    const body = chatCompletion("", { choices: [{ index: 0, message, logprobs: null, finish_reason: "tool_calls" }] });
    stage.upstream.always(chatReply("", { pieces: [JSON.stringify(body)] }));
    const messages = [{ role: "user" as const, content: `tools ${number++}` }];
    await hit({ messages });
    const sdk = openAi(stage.gateway, stage.key, withConfig(cached()));
    const whole = seenOf(await sdk.chat.completions.create({ model: "gpt-test", messages }));
    const streamed = await seenOfStream(await sdk.chat.completions.create({ model: "gpt-test", messages, stream: true }));
    expect(whole).toMatchObject({ finishReason: "tool_calls", toolCalls: [{ id: "call_1", name: "look", arguments: '{"at":"é"}' }] });
    expect({ ...streamed, usage: null }).toEqual({ ...whole, usage: null });
  });

  describe("what tells questions apart", () => {
    test("each of model, messages, parameters and metadata; the order of asking does not", async () => {
      stage.upstream.always(chatReply("ok"));
      const question = fresh();
      await hit(question);
      const others = [
        await ask({ ...question, model: "gpt-other" }),
        await ask(fresh()),
        await ask({ ...question, temperature: 0.5 }),
        await ask(question, { "x-gateway-metadata": '{"team":"red"}' }),
        await ask(question, {}, stage.key, cached({ override_params: { seed: 1 } })),
        await ask(question, {}, stage.key, cached({ custom_host: `${stage.upstream.origin}/elsewhere/v1` })),
      ];
      expect(others.map(statusOf)).toEqual(others.map(() => "MISS"));
      expect((await stillHit(question)).status).toBe(200);
    });

    test("a namespace stands in place of the metadata", async () => {
      stage.upstream.always(chatReply("ok"));
      const question = fresh();
      const space = { "x-gateway-cache-namespace": "shared" };
      await hit(question, { ...space, "x-gateway-metadata": '{"team":"red"}' });
      await stillHit(question, { ...space, "x-gateway-metadata": '{"team":"blue"}' });
      expect(statusOf(await ask(question, { "x-gateway-cache-namespace": "other" }))).toBe("MISS");
      expect(statusOf(await ask(question))).toBe("MISS");
    });

    test("another organisation never sees it, another workspace of the same one does", async () => {
      stage.upstream.always(chatReply("ours"));
      const question = fresh();
      await hit(question);
      await stillHit(question, {}, neighbour.key);
      stage.upstream.always(chatReply("theirs"));
      for (const headers of [{}, { "x-gateway-cache-namespace": "" }, { "x-gateway-cache-namespace": "org-default" }]) {
        const foreign = await ask(question, headers, stranger.key);
        expect([statusOf(foreign), foreign.text.includes("ours")]).toEqual(["MISS", false]);
      }
      expect((await hit(question, {}, stranger.key)).text).toContain("theirs");
      expect((await stillHit(question)).text).toContain("ours");
    });
  });

  describe("what is not stored", () => {
    test.each([
      ["an error", errorReply(500, "no"), false],
      ["a stream that broke", sseReply([chatChunk({ content: "half" })], { ending: "cut" }), true],
      ["a stream that ended in an error", sseReply([chatChunk({ content: "half" }), { error: { message: "fire" } }]), true],
    ])("%s", async (_, reply, stream) => {
      stage.upstream.always(reply);
      const question = { ...fresh(), stream };
      await ask(question);
      // The next answer is stored after whatever was to be stored of the first.
      stage.upstream.always(chatReply("ok"));
      await hit(fresh());
      stage.upstream.always(reply);
      expect(statusOf(await ask(question))).toBe("MISS");
    });

    test("an answer that hooks looked at", async () => {
      stage.upstream.always(chatReply("ok"));
      const checks = [{ id: "default.contains", parameters: { operator: "none", words: ["forbidden"] } }];
      const checked = cached({ before_request_hooks: [{ id: "h", checks }] });
      const question = fresh();
      expect(statusOf(await ask(question, {}, stage.key, checked))).toBe("MISS");
      await hit(fresh());
      expect(statusOf(await ask(question, {}, stage.key, checked))).toBe("MISS");
    });
  });

  test("an answer of a target after a fallback is that target's", async () => {
    const answers = ({ url }: { url: string }) => (url.startsWith("/down") ? errorReply(500, "no") : chatReply("second"));
    stage.upstream.always(answers);
    const targets = [cached({ custom_host: `${stage.upstream.origin}/down/v1` }), cached()];
    const config = { strategy: { mode: "fallback" }, targets };
    const question = fresh();
    const found = await hit(question, {}, stage.key, config);
    expect(found.headers["x-gateway-last-used-option-index"]).toBe("config.targets[1]");
    expect(found.text).toContain("second");
    expect((await stillHit(question)).text).toContain("second");
  });

  test.each([1, 59, 60, 7_776_000, 7_776_001])("max_age %i is taken, or the default is", async (max_age) => {
    stage.upstream.always(chatReply("ok"));
    const found = await hit(fresh(), {}, stage.key, cached({ cache: { mode: "simple", max_age } }));
    expect(found.status).toBe(200);
  });

  test("a large answer comes back whole", async () => {
    const text = "é".repeat(1024 * 1024);
    stage.upstream.always(chatReply(text));
    const question = fresh();
    const found = await hit(question);
    expect((found.json()["choices"] as { message: { content: string } }[])[0]?.message.content).toBe(text);
    expect(readStream((await stillHit({ ...question, stream: true })).text)).toMatchObject({ content: text, done: true });
  });
});
