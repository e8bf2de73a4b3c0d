import { chatReply, gatewayModes, type Script, until } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { type Answer, chat, target, withConfig } from "./http.ts";
import { useSharedStage } from "./shared-stage.ts";

describe.each(gatewayModes)("what load balancing selects by, %s", (mode) => {
  const saved = (slug: string, host: string) => ({ slug, provider: "openai", api_key: "sk-saved", custom_host: `${host}/v1` });
  const stage = useSharedStage(mode, ({ origin }) => ({ providers: [saved("dear", origin), saved("cheap", origin)] }));
  const at = (segment: string, model: string): object =>
    target(stage.upstream.origin, { custom_host: `${stage.upstream.origin}/${segment}/v1`, override_params: { model } });
  const balanced = (select: string, targets: readonly object[]): object => ({ strategy: { mode: "loadbalance", select }, targets });
  const ask = (config: object): Promise<Answer> => chat(stage.gateway, stage.key, withConfig(config), {});
  const used = (answer: Answer): unknown => answer.headers["x-gateway-last-used-option-index"];

  test("the cheapest model whose price is known", async () => {
    stage.upstream.always(chatReply("ok"));
    const config = balanced("lowest_cost", [at("a", "gpt-unknown"), at("b", "gpt-4o"), at("c", "gpt-4o-mini"), at("d", "gpt-4.1")]);
    for (let index = 0; index < 8; index++) expect(used(await ask(config))).toBe("config.targets[2]");
  });

  test("the cheapest model of saved providers, from the first request on", async () => {
    stage.upstream.always(chatReply("ok"));
    const targets = [
      { provider: "@dear", override_params: { model: "gpt-4o" } },
      { provider: "@cheap", override_params: { model: "gpt-4o-mini" } },
    ];
    for (let index = 0; index < 4; index++) expect(used(await ask(balanced("lowest_cost", targets)))).toBe("config.targets[1]");
  });

  /** Answers that come late at targets called slow. */
  const lateBy = (ms: number): Script => {
    const late = chatReply("late");
    return ({ url }) => (url.includes("slow") ? { ...late, before: [ms] } : chatReply("ok"));
  };
  const calls = (segment: string): number => stage.upstream.requests.filter(({ url }) => url.startsWith(`/${segment}/`)).length;
  const expectRow = (config: object): Promise<unknown> =>
    until("five in a row to go to the second target", async () => {
      for (let index = 0; index < 5; index++) if (used(await ask(config)) !== "config.targets[1]") return false;
      return true;
    });

  test("least_latency tries every target and then keeps away from a slow one", async () => {
    stage.upstream.always(lateBy(300));
    const config = balanced("least_latency", [at("l-slow", "m"), at("l-fast", "m")]);
    await expectRow(config);
    expect([calls("l-slow") > 0, calls("l-fast") > 0]).toEqual([true, true]);
  });

  test("least_busy keeps away from a target that has a request under way", async () => {
    stage.upstream.always(lateBy(1_500));
    const config = balanced("least_busy", [at("b-slow", "m"), at("b-fast", "m")]);
    const waiting: Promise<Answer>[] = [];
    await until("one to be under way", () => {
      waiting.push(ask(config));
      return calls("b-slow") > 0;
    });
    await expectRow(config);
    await Promise.all(waiting);
  });
});
