import { chatReply } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { setups } from "./engines.ts";
import { type Answer, chat, QUESTION, send, target, withConfig } from "./http.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey } from "./stage.ts";

interface Explanation {
  readonly config: { readonly origin: string; readonly id: string | null };
  readonly decision: { readonly choices?: readonly object[] };
  readonly plan: object;
  readonly targets: readonly {
    readonly option_path: string;
    readonly provider: string | null;
    readonly error: { readonly status: number; readonly code: string } | null;
    readonly limits: { readonly allowed: boolean; readonly limits: readonly { readonly limit: string; readonly left: number }[] };
    readonly guardrails: { readonly before_request_hooks: readonly object[] };
    readonly cache: { readonly status: string; readonly key?: string };
    readonly request: { readonly url: string; readonly headers: Record<string, string>; readonly body: Record<string, unknown> };
    readonly cost_estimate: Readonly<Record<string, number | null>>;
  }[];
  readonly not_taken: readonly { readonly option_path: string; readonly reason: string }[];
}

describe.each(setups)("explain, %s", (mode) => {
  const counted = declaredKey("counted-for-explain", { rate_limits: [{ type: "requests", unit: "rpd", value: 5 }] });
  const blind = declaredKey("writes-only", { scopes: ["completions.write"] });
  const idle = declaredKey("reads-only", { scopes: ["logs.view"] });
  const stage = useSharedStage(mode, ({ origin }) => ({
    providers: [{ slug: "explained", provider: "openai", api_key: "sk-never-shown-to-anyone", custom_host: `${origin}/v1` }],
    keys: [counted, blind, idle],
  }));

  function explain(config: object, body: object = QUESTION, headers: Record<string, string> = {}): Promise<Answer> {
    return send(stage.gateway, "/v1/explain", { headers: { "x-gateway-api-key": stage.key, ...withConfig(config), ...headers }, body });
  }
  async function explained(config: object, body?: object, headers?: Record<string, string>): Promise<Explanation> {
    const answer = await explain(config, body, headers);
    expect(answer.status, answer.text).toBe(200);
    return JSON.parse(answer.text) as Explanation;
  }

  test("says what a target would be sent, with its secrets masked, and sends nothing", async () => {
    const config = { provider: "@explained", override_params: { temperature: 0.5 }, drop_params: ["user"] };
    const answer = await explain(config, { ...QUESTION, model: "gpt-4o-mini", user: "u", max_tokens: 100 });
    const said = JSON.parse(answer.text) as Explanation;
    expect(said.plan).toEqual({ target: "config" });
    const [only] = said.targets;
    expect(only?.request).toMatchObject({
      url: `${stage.upstream.origin}/v1/chat/completions`,
      headers: { authorization: "[redacted]" },
      body: { model: "gpt-4o-mini", temperature: 0.5, max_tokens: 100 },
    });
    expect(only?.request.body["user"]).toBeUndefined();
    expect(answer.text).not.toContain("sk-never-shown");
    expect(only?.cost_estimate).toMatchObject({ max_output_tokens: 100, input_tokens: 28, input_micro_usd: 4, most_micro_usd: 64 });
    expect(stage.upstream.requests).toHaveLength(0);
  });

  test("says why the others were not taken, and what follows what", async () => {
    const config = {
      strategy: { mode: "fallback", on_status_codes: [429] },
      targets: [
        { provider: "@explained" },
        {
          strategy: { mode: "loadbalance" },
          targets: [
            { provider: "@explained", weight: 0 },
            { provider: "@explained", weight: 1, name: "taken" },
          ],
        },
        { strategy: { mode: "single" }, targets: [{ provider: "@nobody" }, { provider: "@explained" }] },
      ],
    };
    const said = await explained(config);
    expect(said.plan).toEqual({
      in_order: [{ target: "config.targets[0]" }, { target: "config.targets[1].targets[1]" }, { target: "config.targets[2].targets[0]" }],
      go_on_at: [429],
    });
    expect(said.not_taken).toEqual([
      { option_path: "config.targets[1].targets[0]", name: null, reason: "its weight is 0" },
      { option_path: "config.targets[2].targets[1]", name: null, reason: "its strategy takes the first of its targets only" },
    ]);
    expect(said.targets[2]).toMatchObject({
      option_path: "config.targets[2].targets[0]",
      error: { status: 400, code: "unknown_provider" },
    });
    expect(said.decision.choices).toMatchObject([{ at: "config.targets[1]", mode: "loadbalance", chosen: 1 }]);
  });

  test("shows what is left of limits without taking any", async () => {
    const headers = { "x-gateway-api-key": counted.key };
    for (const _ of [1, 2]) {
      const said = await explained({ provider: "@explained" }, QUESTION, headers);
      expect(said.targets[0]?.limits).toMatchObject({ allowed: true, limits: [{ unit: "rpd", value: 5, left: 5 }] });
    }
  });

  test("shows whether the answer is stored, by the same key", async () => {
    const config = { provider: "@explained", cache: { mode: "simple" } };
    const body = { ...QUESTION, user: `explained ${mode}` };
    const before = (await explained(config, body)).targets[0]?.cache;
    expect(before).toMatchObject({ status: "MISS", key: expect.stringMatching(/^[0-9a-f]{64}$/) });
    stage.upstream.script(chatReply("stored"));
    expect((await chat(stage.gateway, stage.key, withConfig(config), body)).headers["x-gateway-cache-status"]).toBe("MISS");
    await expect.poll(async () => (await explained(config, body)).targets[0]?.cache).toEqual({ ...before, status: "HIT" });
    expect(stage.upstream.requests).toHaveLength(1);
  });

  test("lists the guardrails that would look at it, and refuses what the request itself would be refused for", async () => {
    const guarded = {
      provider: "@explained",
      input_guardrails: [{ "default.contains": { operator: "none", words: ["x"] }, deny: true, id: "words" }],
    };
    const said = await explained(guarded);
    expect(said.targets[0]?.guardrails.before_request_hooks).toEqual([{ id: "words", async: false, may_deny: true }]);
    expect((await explain({ provider: "@explained" }, { ...QUESTION, temperature: 3 })).error()).toMatchObject({ param: "temperature" });
    expect((await explain({ retry: { attempts: "many" } })).error()).toMatchObject({ code: "invalid_config", param: "retry.attempts" });
  });

  test.each([
    ["no right to read logs", blind, "logs.view"],
    ["no right to send requests", idle, "completions.write"],
  ])("a key with %s is refused", async (_, key, scope) => {
    const answer = await explain(target(stage.upstream.origin), QUESTION, { "x-gateway-api-key": key.key });
    expect(answer.status).toBe(403);
    expect(answer.error()["message"]).toContain(scope);
  });
});
