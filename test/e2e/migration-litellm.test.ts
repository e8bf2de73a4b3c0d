import type { JsonObject } from "@unigate/core";
import { chatReply, errorReply, gatewayModes, type Upstream, until } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { printedExamples } from "./printed-examples.ts";
import { openAi } from "./sdk.ts";
import { declaredKey, useStage } from "./stage.ts";

const [theirs = "", ours = ""] = printedExamples("MIGRATION.md", "From LiteLLM")
  .filter(({ language }) => language === "yaml")
  .map(({ text }) => text);
const WEB = declaredKey("web");

/** The printed file, but for where its providers are. */
function printedFile({ origin }: Upstream): object {
  const file = parse(ours) as { providers: JsonObject[] };
  // All answer in OpenAI's words here.
  const providers = file.providers.map((provider) => ({
    ...provider,
    provider: "openai",
    custom_host: `${origin}/${String(provider["slug"])}`,
  }));
  return { ...file, providers };
}

describe.each(gatewayModes)("the unigate.yaml that MIGRATION.md makes of a LiteLLM config, %s", (mode) => {
  const stage = useStage(mode, {
    config: printedFile,
    env: { WEB_KEY: WEB.key, OPENAI_API_KEY: "sk-openai", GROQ_API_KEY: "sk-groq", ANTHROPIC_API_KEY: "sk-anthropic" },
  });
  const ask = (model: string, content: string) =>
    openAi(stage.gateway, WEB.key)
      .chat.completions.create({ model, messages: [{ role: "user", content }] })
      .withResponse();
  const called = (): string[] => stage.upstream.requests.map(({ url }) => url.split("/")[1] ?? "");

  test("model names lead where they led", async () => {
    stage.upstream.always(chatReply("ok"));
    await ask("chat-backup", "one");
    expect(called()).toEqual(["anthropic"]);
    const { response } = await ask("chat", "two");
    expect(["openai", "groq"]).toContain(called()[1]);
    expect(response.headers.get("x-gateway-last-used-option-index")).toMatch(/^config\.targets\[0\]\.targets\[0\]\.targets\[[01]\]$/);
    expect(response.headers.get("x-ratelimit-limit-requests")).toBe("100");
  });

  test("a group that fails is left for its fallback, and the answer is cached", async () => {
    stage.upstream.always(({ url }) => (url.startsWith("/anthropic/") ? chatReply("backup") : errorReply(400, "no")));
    const { data } = await ask("chat", "three");
    expect(data.choices[0]?.message.content).toBe("backup");
    expect(called().at(-1)).toBe("anthropic");
    const cacheStatus = async () => (await ask("chat-backup", "four")).response.headers.get("x-gateway-cache-status");
    await until("an answer from the cache", async () => (await cacheStatus()) === "HIT");
  });

  test("nothing of the model list is lost", () => {
    const { model_list } = parse(theirs) as { model_list: { litellm_params: { model: string } }[] };
    expect(model_list).toHaveLength(3);
    for (const { litellm_params } of model_list) {
      const [provider = "", model = ""] = litellm_params.model.split(/\/(.*)/);
      expect(ours).toContain(`provider: "@${provider}", override_params: { model: ${model} }`);
    }
  });
});
