import { chatReply, gatewayModes } from "@unigate/testkit";
import { beforeEach, describe, expect, test } from "vitest";
import { expectError } from "./envelope.ts";
import { type Answer, QUESTION, send, target, toUpstream, withConfig } from "./http.ts";
import { useSharedStage } from "./shared-stage.ts";
import { expectSameInEveryMode } from "./stage.ts";

const list = (count: number, item: string): string => `[${Array.from({ length: count }, () => item).join(",")}]`;
const FUNCTION = '{"type":"function","function":{"name":"f"}}';

/** A parameter, JSON texts that are refused, JSON texts that pass, and what must stand beside it. */
type Row = [param: string, refused: string[], taken: string[], beside?: string];

/** Spec 4.1 and 8. The first and the last value of each range pass, the next ones do not. */
const PARAMETERS: Row[] = [
  ["messages", ["[]", "null", '"x"', "{}", "[1]", "[null]", "[[]]"], ['[{"role":"user"}]']],
  ["messages[0].role", ['[{"role":"owner"}]', '[{"role":1}]', '[{"content":"x"}]'], ['[{"role":"developer","content":"x"}]']],
  ["messages[0].content", ['[{"role":"user","content":1}]', '[{"role":"user","content":{}}]'], ['[{"role":"user","content":[]}]']],
  ["model", ['""', "1", "null", "[]"], ['"m"']],
  ["temperature", ["-0.01", "2.01", '"1"', "true", "1e400"], ["0", "2", "0.5", "null"]],
  ["top_p", ["-0.01", "1.01", '"1"', "[]"], ["0", "1", "null"]],
  ["frequency_penalty", ["-2.01", "2.01", '"1"'], ["-2", "2", "null"]],
  ["presence_penalty", ["-2.01", "2.01", "{}"], ["-2", "2", "null"]],
  ["n", ["0", "129", "1.5", '"2"', "-1"], ["1", "128", "null"]],
  ["max_tokens", ["-1", "1.5", '"5"', "1e400"], ["0", "1", "9007199254740991", "null"]],
  ["max_completion_tokens", ["-1", "0.1", "true"], ["1", "null"]],
  ["logprobs", ["1", '"true"'], ["true", "false", "null"]],
  ["top_logprobs", ["-1", "21", "0.5", '"1"'], ["0", "20", "null"], '"logprobs":true'],
  ["top_logprobs", ["0", "5"], ["null"], '"logprobs":false'],
  ["logit_bias", ["[]", '"x"', '{"1":101}', '{"1":-100.5}', '{"1":"a"}', '{"1":null}'], ['{"1":100,"2":-100}', "{}", "null"]],
  ["stop", [list(5, '"a"'), "1", "[1]", "{}"], [list(4, '"a"'), '"a"', "null"]],
  ["stream", ['"true"', "1"], ["false", "null"]],
  ["stream_options", ["{}", "1"], ["null"]],
  ["stream_options", ["true", '"x"', "[]"], ["null", "{}", '{"include_usage":true}'], '"stream":true'],
  ["tools", [list(129, FUNCTION), "{}", '"x"', "[1]"], [list(128, FUNCTION), "[]", "null"]],
  ["tool_choice", ['"any"', "1", "[]"], ['"none"', '"auto"', '"required"', FUNCTION, "null"]],
  ["parallel_tool_calls", ["1", '"false"'], ["true", "false"]],
  ["functions", ["[]", list(129, '{"name":"f"}'), "{}", "[null]"], [list(128, '{"name":"f"}'), '[{"name":"f"}]']],
  ["function_call", ['"required"', "1", "{}", '{"name":1}', "[]"], ['"none"', '"auto"', '{"name":"f"}', "null"]],
  ["response_format", ['"json"', "[]", "1"], ['{"type":"text"}', "null"]],
  ["thinking", ["true", "[]"], ['{"type":"enabled","budget_tokens":1024}', "null"]],
  ["seed", ["1.5", '"1"', "9.4e18", "-9.4e18"], ["0", "-9.22e18", "9.22e18", "null"]],
  ["user", ["1", "{}"], ['"u"', "null"]],
];

describe.each(gatewayModes)("fields that are wrong, %s", (mode) => {
  const stage = useSharedStage(mode, () => ({
    providers: [{ slug: "mocked", provider: "mock" }],
    configs: [{ id: "pc-mocked", config: { provider: "@mocked" } }],
  }));
  beforeEach(() => stage.upstream.always(chatReply("ok")));

  function post(body: string | object, headers: Record<string, string>): Promise<Answer> {
    return send(stage.gateway, "/v1/chat/completions", {
      body,
      headers: { "x-gateway-api-key": stage.key, "content-type": "application/json", ...headers },
    });
  }

  describe("of a chat completion", () => {
    /** The question as JSON text with one field set, so that numbers can be written that JavaScript cannot hold. */
    function bodyWith(param: string, text: string, beside: string | undefined): string {
      const [field = ""] = param.split("[");
      const { [field as "model"]: _, ...rest } = QUESTION;
      const others = JSON.stringify(rest).slice(1, -1);
      return `{${[`"${field}":${text}`, others, beside].filter((part) => part !== undefined && part !== "").join(",")}}`;
    }

    test.each(PARAMETERS)("%s: refused %j, taken %j", async (param, refused, taken, beside) => {
      const headers = toUpstream(stage.upstream.origin);
      for (const text of refused) {
        const error = expectError(await post(bodyWith(param, text, beside), headers), 400, "invalid_request");
        // The index or the token of the item that is wrong may follow.
        expect(String(error["param"]).startsWith(param), `${param}: ${text} gave ${String(error["param"])}`).toBe(true);
        expect(error["message"]).toMatch(/^\S+: expected .+\.$/);
        expectSameInEveryMode(`${param} ${text} ${beside}`, error);
      }
      expect(stage.upstream.requests).toEqual([]);
      for (const text of taken) {
        stage.upstream.reset();
        stage.upstream.always(chatReply("ok"));
        const answer = await post(bodyWith(param, text, beside), headers);
        expect(stage.upstream.requests.length, `${param}: ${text} gave ${answer.text}`).toBe(1);
      }
    });

    test("an item among many is named by its place", async () => {
      const body = { ...QUESTION, messages: [...QUESTION.messages, ...QUESTION.messages, { role: "user", content: 7 }] };
      const error = expectError(await post(body, toUpstream(stage.upstream.origin)), 400, "invalid_request");
      expect(error["param"]).toBe("messages[2].content");
    });
  });

  describe("of a config", () => {
    const fallback = (over: object): string => JSON.stringify({ strategy: { mode: "fallback" }, targets: [{ provider: "mock" }], ...over });
    test.each([
      ["an open brace", "{", "x-gateway-config", "valid JSON"],
      ["a list", "[]", "x-gateway-config", "expected a JSON object"],
      ["null", "null", "x-gateway-config", "expected a JSON object"],
      ["a number", "7", "x-gateway-config", "expected a JSON object"],
      ["nothing in it", "{}", "x-gateway-config", "expected at least one of provider"],
      ["objects 1,000 deep", `${'{"a":'.repeat(1_000)}1${"}".repeat(1_000)}`, "x-gateway-config", "deeper than 50"],
      ["targets 9,000 deep", `${'{"targets":['.repeat(9_000)}${"]}".repeat(9_000)}`, "x-gateway-config", "deeper than 50"],
      [
        "a parameter 60,000 deep",
        `{"override_params":{"a":${"[".repeat(60_000)}${"]".repeat(60_000)}}}`,
        "x-gateway-config",
        "deeper than 50",
      ],
      ["targets 60 deep", `${'{"targets":['.repeat(60)}${"]}".repeat(60)}`, "x-gateway-config", "deeper than 50"],
      ["an unknown mode", fallback({ strategy: { mode: "fastest" } }), "strategy.mode", '"loadbalance"'],
      ["no mode", fallback({ strategy: {} }), "strategy.mode", "expected"],
      ["no targets", '{"strategy":{"mode":"fallback"}}', "targets", "needs a list of targets"],
      ["an empty list of targets", '{"strategy":{"mode":"single"},"targets":[]}', "targets", "at least 1"],
      ["targets without a strategy", '{"targets":[{"provider":"mock"}]}', "strategy", "expected a strategy"],
      ["a target of no kind", '{"strategy":{"mode":"single"},"targets":[7]}', "targets[0]", "expected an object"],
      ["a target that goes nowhere", fallback({ targets: [{ provider: "mock" }, { weight: 1 }] }), "targets[1]", "provider"],
      ["attempts as text", '{"provider":"mock","retry":{"attempts":"3"}}', "retry.attempts", "expected a number, found string"],
      [
        "a status that is none",
        '{"provider":"mock","retry":{"attempts":1,"on_status_codes":[99]}}',
        "retry.on_status_codes[0]",
        "at least 100",
      ],
      ["a negative timeout", '{"provider":"mock","request_timeout":-1}', "request_timeout", "at least 1"],
      ["a negative weight", fallback({ targets: [{ provider: "mock", weight: -1 }] }), "targets[0].weight", "at least 0"],
      ["conditions that lack", fallback({ strategy: { mode: "conditional" } }), "strategy.conditions", "needs conditions"],
      [
        "a breaker that is too quick",
        '{"provider":"mock","cb_config":{"failure_threshold":1,"cooldown_interval":29999}}',
        "cb_config.cooldown_interval",
        "at least 30000",
      ],
      ["a breaker without threshold", '{"provider":"mock","cb_config":{"cooldown_interval":30000}}', "cb_config", "failure_threshold"],
      ["an unknown cache", '{"provider":"mock","cache":{"mode":"fast"}}', "cache.mode", '"simple"'],
      ["a passthrough with targets", fallback({ passthrough: true }), "targets", "passthrough"],
    ])("that is or has %s is 400, naming the field and what would be right", async (name, config, param, text) => {
      const error = expectError(await post(QUESTION, { "x-gateway-config": config }), 400, "invalid_config");
      expect(error).toMatchObject({ param, message: expect.stringContaining(text) });
      if (param !== "x-gateway-config") expect(error["message"]).toContain(param);
      expectSameInEveryMode(name, error);
    });

    test("with many faults names the first and says how many more there are", async () => {
      const targets = Array.from({ length: 30 }, () => ({ provider: "mock", weight: -1 }));
      const error = expectError(await post(QUESTION, { "x-gateway-config": fallback({ targets }) }), 400, "invalid_config");
      expect(error["message"]).toMatch(/targets\[0\]\.weight: expected at least 0.*; and \d+ more$/);
      expect(String(error["message"]).length).toBeLessThan(1_000);
    });

    test("that is saved and unknown is 400", async () => {
      for (const id of ["pc-nothing", "pc-", `pc-${"x".repeat(5_000)}`, "pc-mocked/../x", "pc-__proto__"]) {
        const error = expectError(await post(QUESTION, { "x-gateway-config": id }), 400, "unknown_config");
        expect(error).toMatchObject({ param: "x-gateway-config", message: expect.stringContaining(id.slice(0, 40)) });
        expect(String(error["message"]).length).toBeLessThan(200);
      }
      expect((await post(QUESTION, { "x-gateway-config": "pc-mocked" })).status).toBe(200);
    });

    test("whose prompt is saved is told that there are none yet", async () => {
      expectError(await post(QUESTION, { "x-gateway-config": '{"prompt_id":"p"}' }), 400, "prompt_not_supported");
    });
  });

  describe("a provider", () => {
    const inline = (provider: string): Record<string, string> => ({ "x-gateway-config": JSON.stringify({ provider, api_key: "k" }) });
    test.each([
      ["no provider", {}, "provider_required", "x-gateway-provider"],
      ["an unknown one", { "x-gateway-provider": "nothing" }, "unknown_provider", '"nothing"'],
      ["a mistyped one", { "x-gateway-provider": "opnai" }, "unknown_provider", 'Did you mean "openai"?'],
      ["one of the language", { "x-gateway-provider": "__proto__" }, "unknown_provider", '"__proto__"'],
      ["an unknown slug", { "x-gateway-provider": "@nothing" }, "unknown_provider", '"@nothing"'],
      ["an empty slug", { "x-gateway-provider": "@" }, "unknown_provider", '"@"'],
      ["an unknown virtual key", { "x-gateway-virtual-key": "nothing" }, "unknown_provider", '"@nothing"'],
      ["an unknown one in a config", inline("nothing"), "unknown_provider", '"nothing"'],
      ["an unknown slug in a config", inline("@nothing"), "unknown_provider", '"@nothing"'],
      ["a long one", { "x-gateway-provider": "x".repeat(9_000) }, "unknown_provider", "There is no provider"],
    ])("that is %s is 400", async (_, headers: Record<string, string>, code, text) => {
      const answer = await post(QUESTION, headers);
      const error = expectError(answer, 400, code);
      expect(error["message"]).toContain(text);
      expect(answer.text.length).toBeLessThan(600);
    });

    test("that the model names and nobody knows is 400", async () => {
      const error = expectError(await post({ ...QUESTION, model: "@nothing/gpt" }, {}), 400, "unknown_provider");
      expect(error["message"]).toContain('"@nothing"');
    });

    test("that is unknown is left for the next target", async () => {
      const config = { strategy: { mode: "fallback" }, targets: [{ provider: "nothing" }, target(stage.upstream.origin)] };
      expect((await post(QUESTION, withConfig(config))).status).toBe(200);
    });
  });
});
