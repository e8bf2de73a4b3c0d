import type { JsonObject } from "@unigate/core";
import { chatReply, chatStreamReply, errorReply, gatewayModes } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { type Answer, chat, readStream, send, target, withConfig } from "./http.ts";
import { logOf, logsOf } from "./logs.ts";
import { openAi, seenOf } from "./sdk.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey, expectSameInEveryMode } from "./stage.ts";

const SECRET_WORD = "xyzzy";
const none = (...words: string[]): JsonObject => ({ id: "default.contains", parameters: { operator: "none", words } });
const pattern = (rule: string, over: object = {}): JsonObject => ({ id: "default.regexMatch", parameters: { rule, not: true, ...over } });
/** A hook whose check is that the secret word is not there. */
const hook = (over: object = {}): JsonObject => ({ id: "no-word", checks: [none(SECRET_WORD)], ...over });
const asked = (content: string): object => ({ messages: [{ role: "user", content }] });

interface HookResults {
  readonly before_request_hooks: readonly JsonObject[];
  readonly after_request_hooks: readonly JsonObject[];
}

describe.each(gatewayModes)("guardrails, %s", (mode) => {
  const stranger = declaredKey("stranger to guardrails", { organisation: "org-stranger" });
  const stage = useSharedStage(mode, () => ({
    keys: [stranger],
    guardrails: [
      { id: "pg-saved", checks: [none(SECRET_WORD)], actions: { deny: true } },
      { id: "pg-soft", checks: [none(SECRET_WORD), pattern("\\d{4}")] },
    ],
  }));
  const here = (over: object = {}): Record<string, unknown> => target(stage.upstream.origin, over);

  function ask(config: object, body: object = {}): Promise<Answer> {
    return chat(stage.gateway, stage.key, withConfig(here(config)), body);
  }
  function resultsOf(answer: Answer): HookResults {
    return answer.json()["hook_results"] as HookResults;
  }
  async function recordOf(answer: Answer, count = 1): Promise<JsonObject | undefined> {
    return (await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), count)).at(-1);
  }
  /** Without what differs from call to call. */
  function steady(results: HookResults): unknown {
    const text = JSON.stringify(results, (key, value: unknown) => (/^(execution_time|created_at)$/.test(key) ? null : value));
    return JSON.parse(text);
  }

  describe("before the request", () => {
    test("a check that passes lets it through and says so", async () => {
      stage.upstream.script(chatReply("fine"));
      const answer = await ask({ before_request_hooks: [hook({ deny: true })] }, asked("hello"));
      expect(answer.status).toBe(200);
      expect(answer.json()).toMatchObject({ choices: [{ message: { content: "fine" } }] });
      const [result] = resultsOf(answer).before_request_hooks;
      expect(result).toEqual({
        verdict: true,
        id: "no-word",
        transformed: false,
        checks: [
          {
            id: "default.contains",
            verdict: true,
            data: expect.any(Object) as unknown,
            execution_time: expect.any(Number) as unknown,
            transformed: false,
            created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as unknown,
            log: null,
            fail_on_error: false,
          },
        ],
        feedback: null,
        execution_time: expect.any(Number) as unknown,
        async: false,
        type: "guardrail",
        created_at: expect.any(String) as unknown,
        deny: true,
      });
      expect(resultsOf(answer).after_request_hooks).toEqual([]);
      expectSameInEveryMode("hook results", steady(resultsOf(answer)));
    });

    test("one that fails and denies is 446 and never reaches the upstream", async () => {
      const answer = await ask({ before_request_hooks: [hook({ deny: true })] }, asked(`the word is ${SECRET_WORD}`));
      expect(answer.status).toBe(446);
      expect(answer.error()).toMatchObject({ type: "hooks_failed", code: "hooks_failed", param: null });
      expect(resultsOf(answer).before_request_hooks).toMatchObject([{ id: "no-word", verdict: false, deny: true }]);
      expect(stage.upstream.requests.length).toBe(0);
      expectSameInEveryMode("446 before", { ...answer.json(), hook_results: steady(resultsOf(answer)) });
      expect(await recordOf(answer)).toMatchObject({
        outcome: "denied",
        status: 446,
        error: { code: "hooks_failed" },
        hook_results: { before_request_hooks: [{ id: "no-word", verdict: false }] },
      });
    });

    test("one that fails and does not deny makes the answer 246", async () => {
      stage.upstream.script(chatReply("fine"), chatReply("for the SDK"));
      const config = { before_request_hooks: [hook()] };
      const answer = await ask(config, asked(SECRET_WORD));
      expect(answer.status).toBe(246);
      expect(answer.json()).toMatchObject({ choices: [{ message: { content: "fine" } }] });
      expect(resultsOf(answer).before_request_hooks).toMatchObject([{ verdict: false, deny: false }]);
      expect(await recordOf(answer)).toMatchObject({ outcome: "success", hook_results: { before_request_hooks: [{ verdict: false }] } });
      const sdk = openAi(stage.gateway, stage.key, withConfig(here(config)));
      const completion = await sdk.chat.completions.create({ model: "m", messages: [{ role: "user", content: SECRET_WORD }] });
      expect(seenOf(completion)).toMatchObject({ text: "for the SDK" });
    });

    test("a soft failure is 246 in the log as well as in the answer", async () => {
      stage.upstream.script(chatReply("fine"));
      const answer = await ask({ before_request_hooks: [hook()] }, asked(SECRET_WORD));
      expect([answer.status, (await recordOf(answer))?.["status"]]).toEqual([246, 246]);
    });

    test.each([
      ["pattern", { checks: [pattern("\\b\\d{3}-\\d{2}-\\d{4}\\b")] }, "mine is 123-45-6789"],
      ["pattern with flags", { checks: [pattern("/SECRET/i")] }, "the secret"],
      ["one of two checks", { checks: [none("other"), none(SECRET_WORD)] }, SECRET_WORD],
      ["checks in order", { checks: [none("other"), none(SECRET_WORD)], sequential: true }, SECRET_WORD],
      ["deny in on_fail", { checks: [none(SECRET_WORD)], deny: undefined, on_fail: { deny: true } }, SECRET_WORD],
    ])("denies by %s", async (_, over, text) => {
      const answer = await ask({ before_request_hooks: [hook({ deny: true, ...over })] }, asked(text));
      expect(answer.status, answer.text).toBe(446);
      expect(stage.upstream.requests.length).toBe(0);
    });

    test("only the last message is looked at, in all its parts", async () => {
      stage.upstream.always(chatReply("ok"));
      const config = { before_request_hooks: [hook({ deny: true })] };
      const parts = [
        { type: "text", text: "a" },
        { type: "text", text: SECRET_WORD },
      ];
      const history = [
        { role: "user", content: SECRET_WORD },
        { role: "user", content: "b" },
      ];
      expect((await ask(config, { messages: [{ role: "user", content: parts }] })).status).toBe(446);
      expect((await ask(config, { messages: history })).status).toBe(200);
    });

    test("a disabled check does not run, and nothing is said of it", async () => {
      stage.upstream.script(chatReply("ok"));
      const answer = await ask(
        { before_request_hooks: [hook({ deny: true, checks: [{ ...none(SECRET_WORD), is_enabled: false }] })] },
        asked(SECRET_WORD),
      );
      expect([answer.status, answer.json()["hook_results"]]).toEqual([200, undefined]);
    });

    test("one that runs beside the request changes nothing of it", async () => {
      stage.upstream.script(chatReply("ok"));
      const answer = await ask({ before_request_hooks: [hook({ deny: true, async: true })] }, asked(SECRET_WORD));
      expect([answer.status, answer.json()["hook_results"]]).toEqual([200, undefined]);
    });
  });

  describe("what cannot be checked", () => {
    const HOSTILE = ["(a)\\1", "foo(?=bar)", "(?<!x)y", "(", "x".repeat(1_001), "(a{1,30}){1,30}(b{1,30}){1,30}"];

    test.each(HOSTILE)("a pattern without a bound is refused by name, and passes: %s", async (rule) => {
      stage.upstream.script(chatReply("ok"));
      const answer = await ask({ before_request_hooks: [hook({ deny: true, checks: [pattern(rule)] })] }, asked("a a"));
      expect(answer.status).toBe(200);
      expect(resultsOf(answer).before_request_hooks).toMatchObject([
        {
          verdict: true,
          checks: [{ verdict: false, error: { name: "CheckParameterError", message: expect.stringContaining("rule: expected") } }],
        },
      ]);
    });

    test.each([
      ["a pattern without a bound", pattern("(a)\\1", { failOnError: true })],
      ["a check that does not exist", { id: "default.nothing", parameters: { failOnError: true } }],
    ])("%s denies where its errors count", async (_, check) => {
      const answer = await ask({ before_request_hooks: [hook({ deny: true, checks: [check] })] }, asked("a a"));
      expect(answer.status, answer.text).toBe(446);
      expect(stage.upstream.requests.length).toBe(0);
    });

    test("a pattern that would stop another engine is done at once", async () => {
      stage.upstream.script(chatReply("ok"));
      const started = performance.now();
      const answer = await ask(
        { before_request_hooks: [hook({ deny: true, checks: [pattern("(a+)+$")] })] },
        asked(`${"a".repeat(50_000)}!`),
      );
      expect(answer.status).toBe(200);
      expect(performance.now() - started).toBeLessThan(5_000);
    });

    test("a check that does not exist passes with its error", async () => {
      stage.upstream.script(chatReply("ok"));
      const answer = await ask({ before_request_hooks: [hook({ deny: true, checks: [{ id: "default.nothing" }] })] });
      expect(answer.status).toBe(200);
      expect(resultsOf(answer).before_request_hooks).toMatchObject([
        { checks: [{ error: { message: 'there is no check "default.nothing"' } }] },
      ]);
    });
  });

  describe("after the answer", () => {
    test("one that fails and denies is 446 and shows nothing of the answer", async () => {
      stage.upstream.script(chatReply(`it is ${SECRET_WORD}`));
      const answer = await ask({ after_request_hooks: [hook({ deny: true })] });
      expect(answer.status).toBe(446);
      expect(answer.json()["choices"]).toBeUndefined();
      expect(answer.text).not.toContain("it is");
      expect(resultsOf(answer).after_request_hooks).toMatchObject([{ verdict: false, deny: true }]);
      expect(await recordOf(answer)).toMatchObject({ outcome: "denied", status: 446, usage: { input: 9, output_text: 3 } });
      const sdk = openAi(stage.gateway, stage.key, withConfig(here({ after_request_hooks: [hook({ deny: true })] })));
      stage.upstream.script(chatReply(SECRET_WORD));
      const asking = sdk.chat.completions.create({ model: "m", messages: [{ role: "user", content: "x" }] });
      await expect(asking).rejects.toMatchObject({ status: 446, code: "hooks_failed" });
    });

    test("one that fails and does not deny makes the answer 246", async () => {
      stage.upstream.script(chatReply(SECRET_WORD));
      const answer = await ask({ after_request_hooks: [hook()] });
      expect(answer.status).toBe(246);
      expect(answer.json()).toMatchObject({ choices: [{ message: { content: SECRET_WORD } }] });
      expect(resultsOf(answer).after_request_hooks).toMatchObject([{ verdict: false }]);
      expect(await recordOf(answer)).toMatchObject({ outcome: "success", status: 246 });
    });

    test("an error of the upstream is not checked", async () => {
      stage.upstream.script(errorReply(400, SECRET_WORD));
      const answer = await ask({ after_request_hooks: [hook({ deny: true })] });
      expect([answer.status, answer.json()["hook_results"]]).toEqual([400, undefined]);
    });

    test("a denial is a reason for fallback, and for a retry where it is listed", async () => {
      stage.upstream.script(chatReply(SECRET_WORD), chatReply("clean"), chatReply(SECRET_WORD), chatReply("second try"));
      const denying = here({ after_request_hooks: [hook({ deny: true })] });
      const answer = await chat(stage.gateway, stage.key, withConfig({ strategy: { mode: "fallback" }, targets: [denying, here()] }));
      expect([answer.status, answer.headers["x-gateway-last-used-option-index"]]).toEqual([200, "config.targets[1]"]);
      expect((await recordOf(answer, 2))?.["outcome"]).toBe("success");
      const retry = { attempts: 1, on_status_codes: [446], use_retry_after_headers: true };
      const again = await ask({ after_request_hooks: [hook({ deny: true })], retry });
      expect([again.status, again.headers["x-gateway-retry-attempt-count"]]).toEqual([200, "1"]);
      expect(resultsOf(again).after_request_hooks).toMatchObject([{ verdict: true }]);
    });

    test("the answer that fallback found is not marked by the target that was denied", async () => {
      stage.upstream.script(chatReply(SECRET_WORD), chatReply("clean"));
      const denying = here({ after_request_hooks: [hook({ deny: true })] });
      const answer = await chat(stage.gateway, stage.key, withConfig({ strategy: { mode: "fallback" }, targets: [denying, here()] }));
      expect(answer.json()["hook_results"]).toBeUndefined();
    });

    test("the answer that fallback found is not 246 because of a target that was left", async () => {
      stage.upstream.script(errorReply(500, "down"), chatReply("clean"));
      const marking = here({ before_request_hooks: [hook()] });
      const config = withConfig({ strategy: { mode: "fallback" }, targets: [marking, here()] });
      const answer = await chat(stage.gateway, stage.key, config, asked(SECRET_WORD));
      expect([answer.status, answer.json()["hook_results"]]).toEqual([200, undefined]);
    });

    test("hooks of the whole config are told once, however many targets were tried", async () => {
      stage.upstream.script(errorReply(500, "down"), chatReply("clean"));
      const config = { strategy: { mode: "fallback" }, targets: [here(), here()], before_request_hooks: [hook()] };
      const answer = await chat(stage.gateway, stage.key, withConfig(config), asked("hello"));
      expect(resultsOf(answer).before_request_hooks.length).toBe(1);
    });
  });

  test("a stored answer is checked like a new one: it may have been stored for a request without these hooks", async () => {
    const cache = { cache: { mode: "simple" } };
    stage.upstream.script(chatReply(`it is ${SECRET_WORD}`));
    expect((await ask(cache, asked("stored"))).status).toBe(200);
    for (const over of [{}, { stream: true }]) {
      const answer = await ask({ ...cache, after_request_hooks: [hook({ deny: true })] }, { ...asked("stored"), ...over });
      expect([answer.status, answer.headers["x-gateway-cache-status"]]).toEqual([446, "HIT"]);
      expect(answer.text).not.toContain("it is");
    }
  });

  describe("other ways to write them", () => {
    test.each([
      ["checks as properties", { input_guardrails: [{ "default.contains": { operator: "none", words: [SECRET_WORD] }, deny: true }] }],
      ["the short name of a check", { input_guardrails: [{ contains: { operator: "none", words: [SECRET_WORD] }, deny: true }] }],
      ["a saved one", { input_guardrails: ["pg-saved"] }],
      ["a saved one as a hook", { before_request_hooks: [{ id: "pg-saved" }] }],
      ["a saved one that is made to deny", { input_guardrails: [{ id: "pg-soft", deny: true }] }],
      ["a saved one, on the answer", { output_guardrails: ["pg-saved"] }],
    ])("%s denies", async (_, config) => {
      stage.upstream.always(chatReply(SECRET_WORD));
      const answer = await ask(config, asked(SECRET_WORD));
      expect(answer.status, answer.text).toBe(446);
    });

    test("a saved one that is made not to deny marks", async () => {
      stage.upstream.script(chatReply("ok"));
      expect((await ask({ input_guardrails: [{ id: "pg-saved", deny: false }] }, asked(SECRET_WORD))).status).toBe(246);
    });

    test.each([
      ["of another organisation", "pg-saved", true],
      ["that was misspelt", "pg-savd", false],
    ])("one %s is refused: nothing passes unchecked", async (_, id, asStranger) => {
      const config = withConfig(here({ input_guardrails: [id] }));
      const answer = await chat(stage.gateway, asStranger ? stranger.key : stage.key, config, asked("anything"));
      expect([answer.status, answer.error()]).toEqual([
        400,
        expect.objectContaining({ code: "unknown_guardrail", message: `There is no saved guardrail "${id}" in this workspace.` }),
      ]);
      expect(stage.upstream.requests).toEqual([]);
    });

    test("feedback names the checks by what became of them", async () => {
      const on_fail = { deny: true, feedback: { value: -5, weight: 2, metadata: { why: "words" } } };
      const answer = await ask(
        { before_request_hooks: [hook({ on_fail, checks: [none(SECRET_WORD), pattern("\\d")] })] },
        asked(SECRET_WORD),
      );
      expect(resultsOf(answer).before_request_hooks[0]?.["feedback"]).toEqual({
        value: -5,
        weight: 2,
        metadata: { why: "words", successfulChecks: "default.regexMatch", failedChecks: "default.contains", erroredChecks: "" },
      });
    });
  });

  describe("streams", () => {
    const streamed = (content: string): object => ({ ...asked(content), stream: true });

    test("denied before the request it is JSON with 446", async () => {
      const answer = await ask({ before_request_hooks: [hook({ deny: true })] }, streamed(SECRET_WORD));
      expect([answer.status, answer.headers["content-type"]]).toEqual([446, "application/json"]);
      expect(resultsOf(answer).before_request_hooks).toMatchObject([{ verdict: false }]);
      expect(stage.upstream.requests.length).toBe(0);
    });

    test("marked before the request it is 246; the results come first, and only for those who are not strict", async () => {
      stage.upstream.always(chatStreamReply(["fine"]));
      const config = { before_request_hooks: [hook()] };
      const strict = await ask(config, streamed(SECRET_WORD));
      expect([strict.status, readStream(strict.text).content, readStream(strict.text).done]).toEqual([246, "fine", true]);
      expect(strict.text).not.toContain("hook_results");
      const loose = await ask({ ...config, strict_compat_compliance: false }, streamed(SECRET_WORD));
      expect(readStream(loose.text).chunks[0]).toMatchObject({ hook_results: { before_request_hooks: [{ verdict: false }] } });
      expect(readStream(loose.text)).toMatchObject({ content: "fine", done: true });
      expect(await recordOf(loose)).toMatchObject({ hook_results: { before_request_hooks: [{ verdict: false }] } });
    });

    test("what an output check may deny is held back until it was checked", async () => {
      stage.upstream.script(chatStreamReply(["clean ", "words"]));
      const answer = await ask({ after_request_hooks: [hook({ deny: true })] }, streamed("x"));
      expect([answer.status, readStream(answer.text).content, readStream(answer.text).done]).toEqual([200, "clean words", true]);
      expect(await recordOf(answer)).toMatchObject({ outcome: "success", hook_results: { after_request_hooks: [{ verdict: true }] } });
    });

    test("nothing of a denied one gets out, however it was cut; it ends in the error", async () => {
      stage.upstream.script(chatStreamReply(["it is xy", "zz", "y, really"]));
      const answer = await ask({ after_request_hooks: [hook({ deny: true })] }, streamed("x"));
      const { content, done, error, chunks } = readStream(answer.text);
      expect({ content, done }).toEqual({ content: "", done: false });
      expect(error).toMatchObject({ type: "hooks_failed", code: "hooks_failed" });
      expect(chunks.at(-1)).toMatchObject({ hook_results: { after_request_hooks: [{ verdict: false }] } });
      expect(answer.text).not.toContain("it is");
      expect(await recordOf(answer)).toMatchObject({ outcome: "denied", status: 446, stream: true, usage: { output_text: 3 } });
      expectSameInEveryMode("a denied stream", { content, done, error });
    });

    test("one too long to hold is denied, not let out", async () => {
      stage.upstream.script(chatStreamReply([...Array.from({ length: 100 }, () => "z".repeat(1_024)), new Promise(() => {})]));
      const answer = await ask({ after_request_hooks: [hook({ deny: true })] }, streamed("x"));
      expect(readStream(answer.text)).toMatchObject({ content: "", done: false, error: { code: "hooks_failed" } });
      await stage.upstream.closed(0);
    });

    test("an output check that only marks lets the stream through and its verdict is logged", async () => {
      stage.upstream.script(chatStreamReply(["it is ", SECRET_WORD]));
      const answer = await ask({ after_request_hooks: [hook()] }, streamed("x"));
      expect(readStream(answer.text)).toMatchObject({ content: `it is ${SECRET_WORD}`, done: true });
      expect(await recordOf(answer)).toMatchObject({ hook_results: { after_request_hooks: [{ id: "no-word", verdict: false }] } });
    });
  });

  test("what was denied is in the log with its bodies", async () => {
    stage.upstream.script(chatReply(SECRET_WORD));
    const answer = await ask({ after_request_hooks: [hook({ deny: true })] }, asked("a question"));
    const record = await recordOf(answer);
    const whole = await logOf(stage.gateway, stage.key, String(record?.["id"]));
    expect(whole).toMatchObject({
      request: { body: { messages: [{ content: "a question" }] } },
      response: { body: { error: { code: "hooks_failed" } } },
    });
    const missing = await send(stage.gateway, "/v1/logs/nothing", { headers: { "x-gateway-api-key": stage.key } });
    expect(missing.status).toBe(404);
  });
});
