import { chatReply, errorReply, until } from "@unigate/testkit";
import { beforeEach, describe, expect, test } from "vitest";
import { setups } from "./engines.ts";
import { type Answer, chat, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { declaredKey, useStage } from "./stage.ts";

const HOUR_MS = 3_600_000;

/** Windows are aligned to the hour: what is counted together must not begin right before its end. */
async function hourWithTime(): Promise<void> {
  await until("an hour that lasts a while", () => Date.now() % HOUR_MS < HOUR_MS - 10_000, 20_000);
}

const team = (name: string) => ({ "x-gateway-metadata": JSON.stringify({ team: name }) });

describe.each(setups)("limits beside those of keys, %s", (mode) => {
  const single = declaredKey("single", { rate_limits: [{ type: "concurrency", value: 1 }] });
  const saving = declaredKey("saving");
  const strict = declaredKey("strict");
  const stage = useStage(mode, {
    config: ({ origin }) => {
      const provider = (slug: string, over: object = {}) => ({
        slug,
        provider: "openai",
        api_key: "sk",
        custom_host: `${origin}/v1`,
        ...over,
      });
      const twice = { rate_limits: [{ type: "requests", unit: "rph", value: 2 }] };
      return {
        version: 1,
        keys: [single, saving, strict],
        providers: [
          provider("alone", twice),
          provider("first", twice),
          provider("stored", twice),
          provider("checked", twice),
          provider("big"),
          provider("free"),
        ],
        policies: {
          rate_limits: [
            {
              id: "teams",
              name: "Each team",
              conditions: [{ key: "metadata.team", value: "ops", excludes: true }],
              group_by: [{ key: "metadata.team" }],
              type: "requests",
              unit: "rph",
              value: 2,
            },
            { id: "big", conditions: [{ key: "model", value: "@big/*" }], type: "requests", unit: "rph", value: 1 },
            { id: "spending", conditions: [{ key: "api_key", value: "key-saving" }], type: "tokens", unit: "rpd", value: 300 },
            {
              id: "sure",
              conditions: [{ key: "api_key", value: "key-strict" }],
              type: "requests",
              unit: "rpd",
              value: 1_000,
              on_store_loss: "closed",
            },
          ],
        },
      };
    },
  });
  beforeEach(async () => {
    stage.upstream.always(chatReply("ok"));
    await hourWithTime();
  });

  const ask = (headers: Record<string, string>, body: object = {}, key = stage.key): Promise<Answer> =>
    chat(stage.gateway, key, headers, body);
  const plain = () => withConfig(target(stage.upstream.origin));
  const to = (slug: string) => ({ "x-gateway-provider": `@${slug}` });

  test("a policy counts what its groups say apart, and is named when it refuses", async () => {
    const asked = (name: string) => ask({ ...plain(), ...team(name) });
    const answers = [await asked("web"), await asked("web"), await asked("app")];
    expect(answers.map(({ status, headers }) => [status, headers["x-ratelimit-remaining-requests"]])).toEqual([
      [200, "1"],
      [200, "0"],
      [200, "1"],
    ]);
    const refused = await asked("web");
    const wait = Number(refused.headers["retry-after"]);
    expect(Math.abs(wait * 1_000 - (HOUR_MS - (Date.now() % HOUR_MS)))).toBeLessThan(5_000);
    expect([refused.status, refused.error()]).toEqual([
      429,
      {
        message: `The rate limit policy "Each team" is reached; try again in ${wait} s.`,
        type: "rate_limits_policy_exhaust_error",
        param: null,
        code: "rate_limited",
      },
    ]);
    expect(refused.headers).toMatchObject({
      "x-ratelimit-limit-requests": "2",
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": `${wait}s`,
    });
    for (let call = 0; call < 3; call += 1) expect((await asked("ops")).headers["x-ratelimit-limit-requests"]).toBeUndefined();
    expect((await ask(plain())).status).toBe(200);
  });

  test("a provider's limit is its target's outcome, which names it", async () => {
    const answers = [await ask(to("alone")), await ask(to("alone")), await ask(to("alone"))];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    const refused = answers[2];
    const wait = Number(refused?.headers["retry-after"]);
    expect(refused?.error()).toMatchObject({
      message: `The rate limit of the provider "@alone" is reached; try again in ${wait} s.`,
      type: "virtual_key_rate_limit_error",
      code: "rate_limited",
    });
    expect(refused?.headers["x-ratelimit-remaining-requests"]).toBe("0");
    expect(stage.upstream.requests.length).toBe(2);
  });

  test("a fallback goes on from a target at its limit, and each target is counted", async () => {
    const config = withConfig({ strategy: { mode: "fallback" }, targets: [{ provider: "@first" }, { provider: "@free" }] });
    stage.upstream.script(chatReply("one"), errorReply(500, "no"), chatReply("two"));
    const answers = [await ask(config), await ask(config), await ask(config)];
    expect(
      answers.map(({ status, headers }) => [status, headers["x-gateway-last-used-option-index"], headers["x-ratelimit-limit-requests"]]),
    ).toEqual([
      [200, "config.targets[0]", "2"],
      [200, "config.targets[1]", undefined],
      [200, "config.targets[1]", undefined],
    ]);
    expect(stage.upstream.requests.length).toBe(4);
    const records = await logsOf(stage.gateway, stage.key, String(answers[2]?.headers["x-gateway-trace-id"]), 2);
    expect(records.map(({ status }) => Number(status)).toSorted((one, other) => one - other)).toEqual([200, 429]);
  });

  test("a stored answer is given at the limit too, and counts for no provider", async () => {
    const config = { ...withConfig({ provider: "@stored", cache: { mode: "simple" } }) };
    const answers = [await ask(config), await ask(config), await ask(config), await ask(config)];
    expect(answers.map(({ headers }) => headers["x-gateway-cache-status"])).toEqual(["MISS", "HIT", "HIT", "HIT"]);
    // What the hits took was given back.
    await until("another question to be let through", async () => (await ask(to("stored"))).status === 200);
    expect((await ask({ ...config }, { model: "another" })).status).toBe(429);
    // A look-up that takes too long is a miss, which the limit refuses.
    await until("a hit at the limit", async () => (await ask(config)).headers["x-gateway-cache-status"] === "HIT");
  });

  test("a request that a check denies counts for no provider", async () => {
    const denying = { id: "default.contains", parameters: { words: ["Hello"], operator: "none" } };
    const config = withConfig({ provider: "@checked", input_guardrails: [{ deny: true, checks: [denying] }] });
    for (let call = 0; call < 4; call += 1)
      await until("what the last one took to be given back", async () => (await ask(config)).status === 446);
    expect(stage.upstream.requests.length).toBe(0);
    await until("a question to be let through", async () => (await ask(to("checked"))).status === 200);
  });

  test("a policy about a model counts that model, whoever asks", async () => {
    expect((await ask({}, { model: "@big/gpt" })).status).toBe(200);
    const refused = await ask({}, { model: "@big/gpt" });
    expect([refused.status, refused.error()["message"]]).toEqual([429, expect.stringContaining('The rate limit policy "big" is reached')]);
    expect((await ask({}, { model: "@free/gpt" })).status).toBe(200);
  });

  test("tokens are estimated before and counted after", async () => {
    const refused = await ask(plain(), { max_tokens: 400 }, saving.key);
    expect([refused.status, refused.headers["x-ratelimit-limit-tokens"], refused.error()["code"]]).toEqual([429, "300", "rate_limited"]);
    const passed = await ask(plain(), { max_tokens: 150 }, saving.key);
    expect(passed.status).toBe(200);
    expect(Number(passed.headers["x-ratelimit-remaining-tokens"])).toBeLessThan(150);
    // 12 tokens were used: the rest of the estimate is there again.
    await until("the estimate to be settled", async () => (await ask(plain(), { max_tokens: 200 }, saving.key)).status === 200);
  });

  test("one request at a time: the next passes when the first has ended", async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    stage.upstream.script(async () => {
      await gate;
      return chatReply("slow");
    });
    const slow = ask(plain(), {}, single.key);
    await stage.upstream.request(0);
    const refused = await ask(plain(), {}, single.key);
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
    open();
    expect((await slow).status).toBe(200);
    await until("the next to pass", async () => (await ask(plain(), {}, single.key)).status === 200);
  });

  test.skipIf(mode === "single")("without the policy service a policy that is closed lets nothing pass, and is named", async () => {
    expect((await ask(plain(), {}, strict.key)).status).toBe(200);
    stage.gateway.kill("policy", "SIGKILL");
    const refused = await until("the service to be gone", async () => {
      const answer = await ask(plain(), {}, strict.key);
      return answer.status === 503 && answer;
    });
    expect(refused.error()).toEqual({
      message: 'The rate limit policy "sure" cannot be counted right now, and it lets nothing through uncounted.',
      type: "api_error",
      param: null,
      code: "service_unavailable",
    });
    // What no limit counts does not ask. The last one does, and the edge says what it says in order.
    const answers = [await ask(plain()), await ask(to("free")), await ask({ ...plain(), ...team("web") })];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [first, second, last] = answers.map(({ headers }) => String(headers["x-gateway-trace-id"]));
    const isUncounted = (trace = ""): boolean =>
      stage.gateway
        .output()
        .split("\n")
        .some((line) => line.includes(trace) && line.includes("limits are not counted"));
    await until("the last one to be told as uncounted", () => isUncounted(last));
    expect([isUncounted(first), isUncounted(second)]).toEqual([false, false]);
  });
});
