import { chatChunk, chatStreamReply, errorReply, gatewayModes, hangReply, type Reply, reply, sseReply, until } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { openConnection, QUESTION, type RawConnection, requestHead, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { openAi } from "./sdk.ts";
import { useSharedStage } from "./shared-stage.ts";

/** The promise is 100 ms; the rest is for a busy machine. */
const PROMPT_MS = 600;

const UNARY_BEGUN: Reply = reply({
  headers: { "content-type": "application/json", "content-length": "1000" },
  pieces: ['{"id":"x",'],
  ending: "hang",
});
const STREAM_BEGUN: Reply = sseReply([chatChunk({ role: "assistant", content: "" }), chatChunk({ content: "half" })], { ending: "hang" });

describe.each(gatewayModes)("a client that hangs up, %s", (mode) => {
  const stage = useSharedStage(mode);
  let number = 0;

  /** Sends a request by hand; its trace id is known before any answer. */
  function ask(config: object, body: object, path = "/v1/chat/completions"): { connection: RawConnection; traceId: string } {
    const traceId = `cancel-${mode}-${number++}`;
    const text = JSON.stringify({ ...QUESTION, ...body });
    const headers = { "x-gateway-api-key": stage.key, "x-gateway-trace-id": traceId, ...withConfig(config) };
    const connection = openConnection(stage.gateway);
    connection.write(
      requestHead(`POST ${path}`, { ...headers, "content-type": "application/json", "content-length": String(text.length) }) + text,
    );
    return { connection, traceId };
  }
  const here = (over: object = {}): Record<string, unknown> => target(stage.upstream.origin, over);

  async function expectCancelled(traceId: string): Promise<void> {
    const [record] = await logsOf(stage.gateway, stage.key, traceId, 1);
    expect(record).toMatchObject({ outcome: "cancelled", status: 499, error: { code: "client_closed" } });
  }

  test.each([
    ["unary, before the head", hangReply(), {}],
    ["unary, inside the body", UNARY_BEGUN, {}],
    ["stream, before the head", hangReply(), { stream: true }],
    ["stream, before the first content", sseReply([chatChunk({ role: "assistant" })], { ending: "hang" }), { stream: true }],
  ])("closes the upstream's connection at once: %s", async (_, script, body) => {
    stage.upstream.script(script);
    const { connection, traceId } = ask({ strategy: { mode: "fallback" }, targets: [here({ retry: { attempts: 3 } }), here()] }, body);
    await until("the request to arrive", async () => (await stage.upstream.request(0)).complete);
    const left = performance.now();
    connection.leave();
    await stage.upstream.closed(0);
    expect(performance.now() - left).toBeLessThan(PROMPT_MS);
    await expectCancelled(traceId);
    expect(stage.upstream.requests.length).toBe(1);
  });

  test("closes the upstream's connection at once: inside a stream", async () => {
    stage.upstream.script(STREAM_BEGUN);
    const { connection, traceId } = ask(here(), { stream: true });
    await until("the first words", () => connection.received().includes("half"));
    const left = performance.now();
    connection.leave();
    await stage.upstream.closed(0);
    expect(performance.now() - left).toBeLessThan(PROMPT_MS);
    const [record] = await logsOf(stage.gateway, stage.key, traceId, 1);
    expect(record).toMatchObject({ outcome: "cancelled", status: 499, stream: true });
  });

  test("closes the upstream's connection at once: a stream that an output check holds back", async () => {
    stage.upstream.script(STREAM_BEGUN);
    const checks = [{ id: "default.contains", parameters: { operator: "none", words: ["forbidden"] } }];
    const { connection } = ask(here({ after_request_hooks: [{ id: "h", deny: true, checks }] }), { stream: true });
    await until("the request to arrive", async () => (await stage.upstream.request(0)).complete);
    connection.leave();
    await stage.upstream.closed(0);
  });

  test("closes the upstream's connection at once: a proxied answer", async () => {
    stage.upstream.script(UNARY_BEGUN);
    const { connection } = ask(here(), {}, "/v1/embeddings");
    await until("the first bytes", () => connection.received().includes('{"id":"x",'));
    connection.leave();
    await stage.upstream.closed(0);
  });

  test("the SDK's abort does it", async () => {
    stage.upstream.script(chatStreamReply(["first", new Promise(() => {}), "never"]));
    const sdk = openAi(stage.gateway, stage.key, withConfig(here()));
    const stream = await sdk.chat.completions.create({ model: "m", messages: [{ role: "user", content: "x" }], stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content === "first") break;
    await stage.upstream.closed(0);
  });

  test.each([{}, { stream: true }])("in a retry's wait: nothing more reaches the upstream (%j)", async (body) => {
    stage.upstream.script(errorReply(500, "try again"));
    const { connection, traceId } = ask(here({ retry: { attempts: 3 } }), body);
    await until("the first try to be answered", async () => (await stage.upstream.request(0)).answered);
    connection.leave();
    await expectCancelled(traceId);
    expect(stage.upstream.requests.length).toBe(1);
  });

  test("a body that is cut short reaches no upstream", async () => {
    const connection = openConnection(stage.gateway);
    const headers = { "x-gateway-api-key": stage.key, ...withConfig(here()), "content-type": "application/json", "content-length": "1000" };
    connection.write(`${requestHead("POST /v1/chat/completions", headers)}{"model":`);
    connection.leave();
    // The next request shows that the cut one is over and did no harm.
    stage.upstream.script(chatStreamReply(["ok"]));
    const next = ask(here(), { stream: true });
    await until("the next answer", () => next.connection.received().includes("[DONE]"));
    expect(stage.upstream.requests.length).toBe(1);
  });

  test("many at once leave nothing behind", async () => {
    stage.upstream.always(STREAM_BEGUN);
    const clients = Array.from({ length: 50 }, (_, index) => ask(here(), { stream: index % 2 === 0 }));
    await until("all of them to arrive", () => stage.upstream.requests.length === 50);
    for (const { connection } of clients) connection.leave();
    await until("all connections to be closed", () => stage.upstream.requests.every(({ closed }) => closed));
    await until("no request to be in flight", async () => {
      const metrics = await (await fetch(`${stage.gateway.origin}/metrics`)).text();
      return /^unigate_requests_inflight 0$/m.test(metrics);
    });
  });
});
