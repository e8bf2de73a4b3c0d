import type { JsonObject } from "@unigate/core";
import { chatReply, errorReply, gatewayModes } from "@unigate/testkit";
import { beforeEach, describe, expect, test } from "vitest";
import { type Answer, chat, send, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey, expectSameInEveryMode } from "./stage.ts";

const USED = "x-gateway-last-used-option-index";

describe.each(gatewayModes)("conditional and sticky routing, %s", (mode) => {
  const tagged = declaredKey("tagged", { defaults: { metadata: { plan: "gold" } } });
  const stage = useSharedStage(mode, ({ origin }) => ({
    providers: [{ slug: "saved", provider: "openai", api_key: "sk-saved", custom_host: `${origin}/v1` }],
    configs: [
      { id: "pc-by-model", config: byModel({ provider: "@saved" }) },
      { id: "pc-sticky", config: sticky({ provider: "@saved" }) },
    ],
    keys: [tagged],
  }));
  beforeEach(() => stage.upstream.always(chatReply("ok")));

  const here = (over: object = {}): Record<string, unknown> => target(stage.upstream.origin, over);
  /** Each query sends to a target of its own; the first target is the default. */
  function conditional(queries: readonly object[], place: object = here()): object {
    return {
      strategy: { mode: "conditional", conditions: queries.map((query, index) => ({ query, then: `t${index + 1}` })), default: "t0" },
      targets: [...queries, {}].map((_, index) => ({ ...place, name: `t${index}` })),
    };
  }
  function byModel(place: object): object {
    return conditional([{ "params.model": "large" }, { "params.model": { $regex: "^small" } }], place);
  }
  function sticky(place: object): object {
    const strategy = { mode: "loadbalance", sticky: { enabled: true, hash_fields: ["metadata.user", "headers.x-device", "params.user"] } };
    return { strategy, targets: Array.from({ length: 5 }, () => place) };
  }

  async function ask(config: object | string, body: object = {}, headers: Record<string, string> = {}, key = stage.key): Promise<Answer> {
    const chosen = typeof config === "string" ? { "x-gateway-config": config } : withConfig(config);
    return chat(stage.gateway, key, { ...chosen, ...headers }, body);
  }
  /** Number of the target that answered. */
  async function targetOf(...asked: Parameters<typeof ask>): Promise<unknown> {
    const answer = await ask(...asked);
    expect(answer.status, answer.text).toBe(200);
    const [, number] = /^config\.targets\[(\d+)\]/.exec(String(answer.headers[USED])) ?? [];
    return Number(number);
  }
  const metadata = (of: object): Record<string, string> => ({ "x-gateway-metadata": JSON.stringify(of) });

  describe("conditions", () => {
    test("metadata of the request and of the key", async () => {
      const config = conditional([{ "metadata.tier": "paid" }, { "metadata.plan": { $in: ["gold"] } }, { "metadata.level": { $gte: 5 } }]);
      expect(await targetOf(config)).toBe(0);
      expect(await targetOf(config, {}, metadata({ tier: "paid" }))).toBe(1);
      expect(await targetOf(config, {}, metadata({ tier: "free" }), tagged.key)).toBe(2);
      expect(await targetOf(config, {}, { baggage: "tier=paid;ttl=1" })).toBe(1);
      expect(await targetOf(config, {}, { baggage: "tier=paid", ...metadata({ tier: "free" }) })).toBe(0);
      expect(await targetOf(config, {}, metadata({ level: "10" }))).toBe(3);
      expect(await targetOf(config, {}, metadata({ level: "4" }))).toBe(0);
    });

    test("the model, before the target's own parameters change it", async () => {
      const config = byModel(here({ override_params: { model: "other" } }));
      expect(await targetOf(config, { model: "large" })).toBe(1);
      expect(await targetOf(config, { model: "small-2" })).toBe(2);
      expect(await targetOf(config, { model: "other" })).toBe(0);
      expect(stage.upstream.requests.map(({ body }) => (JSON.parse(String(body)) as JsonObject)["model"])).toEqual([
        "other",
        "other",
        "other",
      ]);
    });

    test("parameters at any depth", async () => {
      const config = conditional([
        { "params.messages[1].role": "assistant" },
        { "params.messages.0.content": { $regex: "(?i)urgent" } },
        { "params.x_options.flags[0]": true },
        { "params.temperature": { $gt: 1, $lte: 1.5 } },
      ]);
      const message = (role: string, content: string) => ({ role, content });
      expect(await targetOf(config, { messages: [message("user", "a"), message("assistant", "b")] })).toBe(1);
      expect(await targetOf(config, { messages: [message("user", "This is URGENT.")] })).toBe(2);
      expect(await targetOf(config, { x_options: { flags: [true] } })).toBe(3);
      expect(await targetOf(config, { x_options: { flags: ["true"] }, temperature: 1.5 })).toBe(4);
      expect(await targetOf(config, { temperature: 1 })).toBe(0);
    });

    test("header and path, $and and $or", async () => {
      const config = conditional([
        { $and: [{ "headers.X-Region": "eu" }, { $or: [{ "metadata.a": "1" }, { "metadata.b": "1" }] }] },
        { "headers.x-region": { $ne: "eu" }, "url.pathname": { $regex: "^/v1/generate$" } },
      ]);
      expect(await targetOf(config, {}, { "x-region": "eu", ...metadata({ b: "1" }) })).toBe(1);
      expect(await targetOf(config, {}, { "x-region": "eu" })).toBe(0);
      const headers = { "x-gateway-api-key": stage.key, ...withConfig(config) };
      const proxied = await send(stage.gateway, "/v1/generate?a=b", { headers, body: { prompt: "x" } });
      expect([proxied.status, proxied.headers[USED]]).toEqual([200, "config.targets[2]"]);
    });

    test("a saved config", async () => {
      expect(await targetOf("pc-by-model", { model: "large" })).toBe(1);
      expect(await targetOf("pc-by-model", { model: "tiny" })).toBe(0);
    });

    test("a target that is chosen may fall back, and the record says what decided", async () => {
      stage.upstream.script(errorReply(500, "first"), chatReply("second"));
      const inner = { name: "both", strategy: { mode: "fallback" }, targets: [here(), here()] };
      const config = {
        strategy: { mode: "conditional", conditions: [{ query: { "params.model": "secret-model" }, then: "both" }], default: "one" },
        targets: [here({ name: "one" }), inner],
      };
      const traceId = `conditional-${mode}`;
      const answer = await ask(config, { model: "secret-model" }, { "x-gateway-trace-id": traceId });
      expect(answer.headers[USED]).toBe("config.targets[1].targets[1]");
      const records = await logsOf(stage.gateway, stage.key, traceId, 2);
      expect(records[0]?.["decision"]).toMatchObject({
        choices: [
          { at: "config", mode: "conditional", evaluated: [{ then: "both", matched: true }], condition: 0, chosen: 1, name: "both" },
        ],
      });
    });

    test("the same where the router decides", async () => {
      const fast = { strategy: { mode: "loadbalance", select: "least_latency" }, targets: [here()] };
      const strategy = {
        mode: "conditional",
        conditions: [
          { query: { "params.messages[0].content": { $regex: "\\x{1F30A} $" }, "params.n": 1, "params.user": null }, then: "t1" },
          { query: { "headers.x-a": "b", "params.stop": { $ne: "x" } }, then: "t2" },
        ],
        default: "t0",
      };
      const config = { strategy, targets: [0, 1, 2].map((number) => ({ ...fast, name: `t${number}` })) };
      const traceId = `routed-${mode}`;
      const wave = { messages: [{ role: "user", content: 'a "quoted" \u{1F30A} ' }], n: 1, user: null };
      expect(await targetOf(config, wave, { "x-gateway-trace-id": traceId })).toBe(1);
      expect(await targetOf(config, { ...wave, n: 2 }, { "x-a": "b" })).toBe(2);
      expect(await targetOf(config, { stop: "x" }, { "x-a": "b" })).toBe(0);
      const [record] = await logsOf(stage.gateway, stage.key, traceId, 1);
      expect(record?.["decision"]).not.toHaveProperty("degraded");
      expect(record?.["decision"]).toMatchObject({ choices: [{ mode: "conditional", condition: 0 }, { mode: "loadbalance" }] });
    });

    test.each<[name: string, condition: object, otherwise: string, param: string, message: string]>([
      ["operator", { query: { "metadata.a": { $gtt: 1 } }, then: "t1" }, "t0", "strategy.conditions[0].query.metadata.a.$gtt", "$gt"],
      ["field", { query: { "parms.a": 1 }, then: "t1" }, "t0", "strategy.conditions[0].query.parms.a", "params.a"],
      ["pattern", { query: { "params.a": { $regex: "(" } }, then: "t1" }, "t0", "strategy.conditions[0].query.params.a.$regex", "pattern"],
      ["name", { query: {}, then: "tt1" }, "t0", "strategy.conditions[0].then", 'did you mean "t1"'],
      ["default", { query: {}, then: "t1" }, "none", "strategy.default", "no target of this strategy"],
      ["empty list", { query: { $or: [] }, then: "t1" }, "t0", "strategy.conditions[0].query.$or", "at least one"],
    ])("a wrong %s is told with its path", async (name, condition, otherwise, param, message) => {
      const strategy = { mode: "conditional", conditions: [condition], default: otherwise };
      const config = {
        strategy,
        targets: [
          { provider: "@saved", name: "t0" },
          { provider: "@saved", name: "t1" },
        ],
      };
      const inline = await ask(config);
      expect([inline.status, inline.error()["code"], inline.error()["param"]]).toEqual([400, "invalid_config", param]);
      expect(inline.error()["message"]).toContain(message);
      expect(stage.upstream.requests.length).toBe(0);
      const saved = await send(stage.gateway, "/v1/configs", {
        headers: { "x-gateway-api-key": tagged.key },
        body: { name: "wrong", config },
      });
      expect(saved.status, saved.text).toBe(400);
      expect(saved.text).toContain(param);
      expectSameInEveryMode(`a wrong ${name}`, [inline.text, saved.text]);
    });
  });

  describe("sticky", () => {
    const RUNS = 6;

    test.each(["inline", "saved"])("one who asks stays, and others are spread (%s)", async (origin) => {
      const config = origin === "saved" ? "pc-sticky" : sticky(here());
      const used = new Set<unknown>();
      for (const user of Array.from({ length: 12 }, (_, index) => `user-${index}`)) {
        const first = await targetOf(config, {}, metadata({ user }));
        for (let run = 1; run < RUNS; run++) expect(await targetOf(config, {}, { ...metadata({ user, run: String(run) }) })).toBe(first);
        used.add(first);
      }
      expect(used.size).toBeGreaterThan(2);
    });

    test("headers and parameters tell apart those who ask", async () => {
      const config = sticky(here());
      for (const part of ["x-device", "user"]) {
        const used = new Set<unknown>();
        for (let index = 0; index < 12; index++) {
          const value = `value-${index}`;
          used.add(await (part === "user" ? targetOf(config, { user: value }) : targetOf(config, {}, { [part]: value })));
        }
        expect(used.size).toBeGreaterThan(2);
      }
    });
  });
});
