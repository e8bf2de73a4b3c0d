import type { JsonObject } from "@unigate/core";
import { chatReply, gatewayModes, jsonReply, type ReceivedRequest, type Reply, until } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { type Answer, chat, readStream, target, withConfig } from "./http.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey } from "./stage.ts";

const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/;
const asked = (content: string): object => ({ messages: [{ role: "user", content }] });

describe.each(gatewayModes)("webhooks of guardrails, %s", (mode) => {
  const bounded = declaredKey("bounded to one model", { allowed_models: ["gpt-test"] });
  const stage = useSharedStage(mode, ({ origin }) => ({
    keys: [bounded],
    guardrails: [
      {
        id: "pg-hook",
        checks: [{ id: "default.webhook", parameters: { webhookURL: `${origin}/hook`, forwardHeaders: ["x-team"] } }],
      },
    ],
  }));
  const hook = (over: object = {}): JsonObject => ({
    id: "hook",
    deny: true,
    checks: [{ id: "default.webhook", parameters: { webhookURL: `${stage.upstream.origin}/hook`, ...over } }],
  });
  const isHook = ({ url }: ReceivedRequest): boolean => url === "/hook";
  const webhooks = (): ReceivedRequest[] => stage.upstream.requests.filter(isHook);
  const calls = (): JsonObject[] =>
    stage.upstream.requests.filter((request) => !isHook(request)).map(({ body }) => JSON.parse(body.toString()) as JsonObject);
  /** The upstream answers the provider's way, and the webhook's with this. */
  function saying(answer: object, reply: Reply = chatReply("fine")): void {
    stage.upstream.always((request) => (isHook(request) ? jsonReply(answer) : reply));
  }
  const rewriting = (over: object): object => ({
    verdict: true,
    transformedData: { request: { json: { model: "gpt-test", ...over } } },
  });
  function ask(over: object, body: object = {}, headers: Record<string, string> = {}, key = stage.key): Promise<Answer> {
    return chat(stage.gateway, key, { ...withConfig(target(stage.upstream.origin, over)), ...headers }, body);
  }

  test("are told the provider in both phases", async () => {
    saying({ verdict: true });
    await ask({ before_request_hooks: [hook()], after_request_hooks: [hook()] });
    const told = webhooks().map(({ body }) => JSON.parse(body.toString()) as JsonObject);
    expect(told.map(({ provider, eventType }) => [provider, eventType])).toEqual([
      ["openai", "beforeRequestHook"],
      ["openai", "afterRequestHook"],
    ]);
  });

  describe("client headers", () => {
    const sent = { "x-team": "web", "x-other": "no", cookie: "a=b", "x-gateway-trace-id": "trace-7", "x-gateway-metadata": '{"a":"b"}' };

    test("are passed on as far as they are named, and a trace always is there", async () => {
      saying({ verdict: true });
      const forwardHeaders = ["X-Team", "x-gateway-trace-id", "x-gateway-span-id", "traceparent"];
      await ask({ before_request_hooks: [hook({ forwardHeaders })], after_request_hooks: [hook()] }, {}, sent);
      const [before, after] = webhooks();
      expect(before?.headers).toMatchObject({ "x-team": "web", "x-gateway-trace-id": "trace-7" });
      expect(before?.headers["traceparent"]).toMatch(TRACEPARENT);
      const names = Object.keys(before?.headers ?? {});
      for (const absent of ["x-other", "cookie", "x-gateway-metadata", "x-gateway-api-key", "authorization"])
        expect(names).not.toContain(absent);
      expect(Object.keys(after?.headers ?? {})).not.toContain("x-team");
    });

    test("are passed on to the webhook of a saved guardrail", async () => {
      saying({ verdict: true });
      await ask({ input_guardrails: ["pg-hook"] }, {}, sent);
      expect(webhooks()[0]?.headers).toMatchObject({ "x-team": "web" });
    });

    test.each(["Authorization", "cookie", "connection", "x-gateway-api-key", "x-portkey-config", "x-amz-security-token"])(
      "%s is refused by name, and the webhook not asked",
      async (name) => {
        saying({ verdict: false });
        const answer = await ask({ before_request_hooks: [hook({ forwardHeaders: ["x-team", name] })] }, {}, sent);
        expect(answer.json()).toMatchObject({
          hook_results: {
            before_request_hooks: [{ checks: [{ error: { message: expect.stringContaining("forwardHeaders[1]: expected") as unknown } }] }],
          },
        });
        expect(webhooks()).toEqual([]);
      },
    );
  });

  describe("that rewrite the request", () => {
    const cache = { mode: "simple", max_age: 600 };
    const words = (text: string): string => `${text}, ${mode}`;
    const statusOf = (answer: Answer): unknown => answer.headers["x-gateway-cache-status"];

    test("are heard by the provider", async () => {
      saying(rewriting(asked("clean")));
      const answer = await ask({ before_request_hooks: [hook()] }, asked("dirty"));
      expect(answer.status).toBe(200);
      expect(calls()).toEqual([{ model: "gpt-test", ...asked("clean") }]);
    });

    test("make the cache look for what they made, not for what the client sent", async () => {
      saying(rewriting(asked(words("clean"))), chatReply("about the clean one"));
      const find = (text: string): Promise<Answer> =>
        until("a hit", async () => {
          const answer = await ask({ cache }, asked(words(text)));
          return statusOf(answer) === "HIT" && answer;
        });
      await find("dirty");
      const missed = await ask({ cache, before_request_hooks: [hook()] }, asked(words("dirty")));
      expect([missed.status, statusOf(missed)]).toEqual([200, "MISS"]);
      expect(calls().at(-1)).toMatchObject(asked(words("clean")));
      await find("clean");
      const tries = calls().length;
      const found = await ask({ cache, before_request_hooks: [hook()] }, asked(words("dirty")));
      expect([statusOf(found), calls().length]).toEqual(["HIT", tries]);
      expect(found.json()).toMatchObject({ choices: [{ message: { content: "about the clean one" } }] });
    });

    test("decide what a stored answer is played back with", async () => {
      const question = asked(words("played back"));
      saying(rewriting({ ...question, stream: true, stream_options: { include_usage: true } }));
      await until("a hit", async () => statusOf(await ask({ cache }, question)) === "HIT");
      const played = await ask({ cache, before_request_hooks: [hook()] }, { ...question, stream: true });
      expect([played.status, statusOf(played)]).toEqual([200, "HIT"]);
      expect(readStream(played.text).chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) as unknown } });
    });

    test("do not turn an answer into a stream", async () => {
      saying(rewriting({ ...asked("clean"), stream: true }));
      const answer = await ask({ before_request_hooks: [hook()] }, asked("dirty"));
      expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
      expect(calls()[0]?.["stream"]).not.toBe(true);
    });

    test("do not give a key a model that it may not use", async () => {
      saying(rewriting({ ...asked("clean"), model: "gpt-dear" }));
      const answer = await ask({ before_request_hooks: [hook()] }, asked("dirty"), {}, bounded.key);
      expect([answer.status, answer.error()["code"]]).toEqual([412, "model_not_allowed"]);
      expect(calls()).toEqual([]);
    });
  });
});
