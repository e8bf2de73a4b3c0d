import {
  chatChunk,
  chatStreamReply,
  cutReply,
  DONE,
  errorReply,
  gatewayModes,
  type Piece,
  reply,
  sseReply,
  until,
  usageChunk,
} from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { eventsOf, openConnection, QUESTION, readStream, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { openAi, seenOfStream } from "./sdk.ts";
import { expectSameInEveryMode } from "./stage.ts";
import { ERROR_EVENT, useStreams } from "./streams.ts";

describe.each(gatewayModes)("streams, %s", (mode) => {
  const { stage, ask, here, two, outcomeOf, chatHead } = useStreams(mode);

  describe("what passes", () => {
    const ODD = [
      '{"id":"c1", "object":"chat.completion.chunk","created":1,"model":"m",  "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}',
      '{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"\\u00e9 é \u{1F30A}"},"finish_reason":null}],"x_new":{"a":1.0,"b":12345678901234567890}}',
      '{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"\\n\\n"},"finish_reason":null}]}',
      '{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    ];
    const wire = Buffer.from(`${ODD.map((data) => `data: ${data}\n\n`).join("")}${DONE}`);

    test("every event byte for byte", async () => {
      stage.upstream.script(sseReply([wire]));
      const answer = await ask(here());
      expect(answer.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
      expect(answer.bytes).toEqual(wire);
      expect(await outcomeOf(answer)).toMatchObject({ outcome: "success", status: 200, stream: true, code: null });
    });

    test("however the network cut it, with other line ends and comments between", async () => {
      const bytes = Buffer.from(`: hello\r\n\r\n${wire.toString("utf8").replaceAll("\n", "\r\n")}`);
      const pieces: Piece[] = [];
      for (let at = 0; at < bytes.length; at += 7) pieces.push(bytes.subarray(at, at + 7));
      stage.upstream.script(sseReply(pieces));
      expect(eventsOf((await ask(here())).text)).toEqual([...ODD, "[DONE]"]);
    });

    test("a stream of many chunks, an event of a megabyte, and one chunk a word", async () => {
      const words = Array.from({ length: 2_000 }, (_, index) => `w${index} `);
      stage.upstream.script(chatStreamReply(words), chatStreamReply(["x".repeat(1024 * 1024), "y"]));
      const many = readStream((await ask(here())).text);
      expect(many).toMatchObject({ content: words.join(""), done: true, error: null });
      expect(many.chunks.length).toBe(2_002);
      const long = readStream((await ask(here())).text);
      expect([long.content.length, long.done]).toEqual([1024 * 1024 + 1, true]);
    });

    test("each chunk when it comes, not at the end", async () => {
      let open = (): void => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      stage.upstream.script(chatStreamReply(["first", gate, "second"]));
      const sdk = openAi(stage.gateway, stage.key, withConfig(here()));
      const stream = await sdk.chat.completions.create({ model: "m", messages: [{ role: "user", content: "x" }], stream: true });
      const seen: string[] = [];
      for await (const chunk of stream) {
        const text = chunk.choices[0]?.delta.content ?? "";
        if (text !== "") seen.push(text);
        if (text === "first") open();
      }
      expect(seen).toEqual(["first", "second"]);
    });

    test("the gateway asks for usage by itself, and hides what the client did not ask for", async () => {
      stage.upstream.script(chatStreamReply(["a"]), chatStreamReply(["a"]));
      const hidden = await ask(here());
      expect(hidden.text).not.toContain("prompt_tokens");
      const shown = await ask(here(), { stream_options: { include_usage: true } });
      expect(readStream(shown.text).chunks.at(-1)).toEqual(usageChunk());
      for (const request of stage.upstream.requests)
        expect(JSON.parse(String(request.body))).toMatchObject({ stream_options: { include_usage: true } });
      const records = await logsOf(stage.gateway, stage.key, String(hidden.headers["x-gateway-trace-id"]), 1);
      expect(records[0]?.["usage"]).toMatchObject({ input: 9, output_text: 3 });
    });

    test("a slow reader holds the upstream back, and loses nothing", async () => {
      const [count, size] = [1_000, 64 * 1024];
      let written = 0;
      const event = `data: ${JSON.stringify(chatChunk({ content: "z".repeat(size) }))}\n\n`;
      const pieces = Array.from({ length: count }, (): Piece[] => [event, () => void (written += 1)]).flat();
      stage.upstream.script(sseReply([...pieces, chatChunk({}, "stop"), DONE]));
      const connection = openConnection(stage.gateway);
      connection.pause();
      connection.write(chatHead({ ...QUESTION, stream: true }));
      let [seen, since] = [0, Date.now()];
      await until("the upstream to be held back", () => {
        if (written !== seen) [seen, since] = [written, Date.now()];
        return written > 0 && Date.now() - since > 400;
      });
      // Each hop may hold what its kernel takes (up to 32 MiB a socket on Linux), and no more.
      expect(written).toBeLessThan(count);
      connection.resume();
      await until("the rest", () => connection.endsWith("0\r\n\r\n"), 30_000);
      expect(connection.received().replaceAll(/[^z]+/g, "").length).toBe(count * size);
      connection.leave();
    });
  });

  describe("an error before any content", () => {
    test("of the upstream's status is the answer, as JSON", async () => {
      stage.upstream.script(errorReply(429, "slow down", { "retry-after": "7" }));
      const answer = await ask(here());
      expect([answer.status, answer.headers["content-type"], answer.headers["retry-after"]]).toEqual([429, "application/json", "7"]);
      expect(answer.error()).toMatchObject({ message: "slow down" });
      expect(await outcomeOf(answer)).toMatchObject({ outcome: "failed", status: 429, stream: true, code: "scripted" });
    });

    test.each([
      ["an error event", [ERROR_EVENT], 529],
      ["an error event after the role", [chatChunk({ role: "assistant", content: "" }), ERROR_EVENT], 529],
      ["an end without a word", [], 502],
      ["garbage in an event", ["data: <html>\n\n"], 502],
      ["a page instead of events", ["<html><body>login</body></html>"], 502],
      ["an end after the role", [chatChunk({ role: "assistant", content: "" })], 502],
    ])("%s is an answer with a status", async (name, events, status) => {
      stage.upstream.script(sseReply(events));
      const answer = await ask(here());
      expect([answer.status, answer.headers["content-type"]], answer.text).toEqual([status, "application/json"]);
      expect(answer.json()).toMatchObject({ error: { message: expect.any(String) }, provider: "openai" });
      expect(await outcomeOf(answer)).toMatchObject({ outcome: "failed", status, stream: true });
      expectSameInEveryMode(`before content: ${name}`, answer.json());
    });

    test("an upstream that answers a stream request without one", async () => {
      stage.upstream.script(reply({ headers: { "content-type": "application/json" }, pieces: [JSON.stringify({ ok: true })] }));
      const answer = await ask(here());
      expect(answer.status).toBe(502);
    });

    test.each([
      ["an error event", sseReply([chatChunk({ role: "assistant", content: "" }), ERROR_EVENT])],
      ["a cut connection", sseReply([chatChunk({ role: "assistant", content: "" })], { ending: "cut" })],
      ["a reset", cutReply()],
      ["garbage", sseReply(["data: {oops\n\n"])],
      ["a status", errorReply(500, "no")],
      ["silence", sseReply([chatChunk({ role: "assistant", content: "" })], { ending: "hang" })],
    ])("%s is a reason for fallback", async (_, first) => {
      stage.upstream.script(first, chatStreamReply(["from the second"]));
      const answer = await ask(two({ timeouts: { first_token_ms: 100 } }));
      expect(readStream(answer.text)).toMatchObject({ content: "from the second", done: true, error: null });
      expect(await outcomeOf(answer, 2)).toMatchObject({ outcome: "success", option: "config.targets[1]" });
    });

    const named = (...list: readonly { readonly type: string }[]): string[] =>
      list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const start = { type: "message_start", message: { id: "msg", model: "m", usage: { input_tokens: 1 } } };
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const anthropic = (): Record<string, unknown> => here({ provider: "anthropic", custom_host: stage.upstream.origin });

    test("an overloaded provider of another dialect is left as well, or tried again", async () => {
      stage.upstream.script(sseReply(named(start, overloaded)), chatStreamReply(["from the second"]));
      const left = await ask({ strategy: { mode: "fallback", on_status_codes: [529] }, targets: [anthropic(), here()] });
      expect(readStream(left.text)).toMatchObject({ content: "from the second", done: true, error: null });

      stage.upstream.script(sseReply([ERROR_EVENT]), chatStreamReply(["from the next try"]));
      const again = await ask(here({ retry: { attempts: 1 } }));
      expect(readStream(again.text)).toMatchObject({ content: "from the next try", done: true, error: null });
      expect(again.headers["x-gateway-retry-attempt-count"]).toBe("1");
      expect(stage.upstream.requests.length).toBe(4);
    });

    test("the same after its first text stays in the stream", async () => {
      const block = { type: "content_block_start", index: 0, content_block: { type: "text", text: "half" } };
      stage.upstream.script(sseReply([named(start, block, overloaded).join("")]), chatStreamReply(["never"]));
      const answer = await ask({ strategy: { mode: "fallback" }, retry: { attempts: 1 }, targets: [anthropic(), here()] });
      expect(answer.status).toBe(200);
      expect(readStream(answer.text)).toMatchObject({ content: "half", done: false, error: { type: "overloaded_error" } });
      expect(await outcomeOf(answer)).toMatchObject({ outcome: "failed", status: 529, code: "overloaded_error" });
      expect(stage.upstream.requests.length).toBe(1);
    });

    test("a first token that is late is 408", async () => {
      stage.upstream.script(sseReply([chatChunk({ role: "assistant", content: "" })], { ending: "hang" }));
      const answer = await ask(here({ timeouts: { first_token_ms: 80 } }));
      expect([answer.status, answer.error()["code"]]).toEqual([408, "request_timeout"]);
      await stage.upstream.closed(0);
    });
  });

  describe("a stream that breaks", () => {
    const begun = [chatChunk({ role: "assistant", content: "" }), chatChunk({ content: "half a" })];

    test.each([
      ["is cut", sseReply(begun, { ending: "cut" }), "upstream_incomplete"],
      ["ends without its end", sseReply(begun), "upstream_incomplete"],
      ["says an error", sseReply([...begun, ERROR_EVENT]), "fire"],
      ["turns into garbage", sseReply([...begun, "data: {oops\n\n", DONE]), "upstream_invalid"],
    ])("because it %s ends in an error event and never in [DONE]", async (name, script, code) => {
      stage.upstream.script(script);
      const answer = await ask(here());
      expect(answer.status).toBe(200);
      const seen = readStream(answer.text);
      expect(seen).toMatchObject({ content: "half a", done: false, error: { code } });
      expect(seen.chunks.at(-1)?.["error"]).toBeDefined();
      expect(await outcomeOf(answer)).toMatchObject({ outcome: "failed", code });
      expectSameInEveryMode(`breaks: ${name}`, seen);
    });

    test("is not tried again", async () => {
      stage.upstream.script(sseReply(begun, { ending: "cut" }), chatStreamReply(["never"]));
      const answer = await ask({ ...two(), retry: { attempts: 2 } });
      expect(readStream(answer.text)).toMatchObject({ content: "half a", done: false });
      expect(stage.upstream.requests.length).toBe(1);
    });

    test("because nothing comes any more says so in time", async () => {
      stage.upstream.script(sseReply(begun, { ending: "hang" }));
      const answer = await ask(here({ timeouts: { idle_ms: 700 } }));
      expect(readStream(answer.text)).toMatchObject({ content: "half a", done: false, error: { code: "upstream_idle" } });
      await stage.upstream.closed(0);
    });

    test("is an exception in the SDK", async () => {
      stage.upstream.script(sseReply(begun, { ending: "cut" }));
      const sdk = openAi(stage.gateway, stage.key, withConfig(here()));
      const stream = await sdk.chat.completions.create({ model: "m", messages: [{ role: "user", content: "x" }], stream: true });
      await expect(seenOfStream(stream)).rejects.toThrow("ended before it was complete");
    });
  });

  test("a raw client sees chunked events and a connection that stays", async () => {
    stage.upstream.always(chatStreamReply(["a"]));
    const connection = openConnection(stage.gateway);
    const request = chatHead({ ...QUESTION, stream: true });
    connection.write(request);
    await until("the first answer", () => connection.received().includes("0\r\n\r\n"));
    connection.write(request);
    await until("the second answer", () => connection.received().split("data: [DONE]").length === 3);
    expect(connection.closed).toBe(false);
    connection.leave();
  });
});
