import { completionTokens, promptTokens } from "@unigate/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { completionTokensOf, openAiUsage, usageOfOpenAi } from "./usage.ts";

describe("usageOfOpenAi", () => {
  test.each([
    ["plain", { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }, { input: 10, outputText: 5 }],
    [
      "cached and reasoning tokens are parts of the counts",
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 60, audio_tokens: 5 },
        completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 10 },
      },
      { input: 35, cacheRead: 60, audioIn: 5, outputText: 20, reasoning: 20, audioOut: 10 },
    ],
    [
      "reasoning left out of completion_tokens, seen by the total",
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 35, completion_tokens_details: { reasoning_tokens: 20 } },
      { input: 10, outputText: 5, reasoning: 20 },
    ],
    ["prompt_cache_hit_tokens", { prompt_tokens: 10, completion_tokens: 1, prompt_cache_hit_tokens: 4 }, { input: 6, cacheRead: 4 }],
    ["cached_tokens at the top", { prompt_tokens: 10, completion_tokens: 1, cached_tokens: 4 }, { input: 6, cacheRead: 4 }],
    ["num_cached_tokens", { prompt_tokens: 10, completion_tokens: 1, num_cached_tokens: 4 }, { input: 6, cacheRead: 4 }],
    [
      "cache writes",
      { prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 } },
      { input: 5, cacheRead: 2, cacheWrite5m: 3 },
    ],
    ["null details", { prompt_tokens: 3, completion_tokens: 1, prompt_tokens_details: null }, { input: 3, cacheRead: 0, outputText: 1 }],
    ["searches", { prompt_tokens: 3, completion_tokens: 1, num_search_queries: 2 }, { units: { searches: 2 } }],
    ["no counts at all", { prompt_tokens: "many", completion_tokens: -1 }, { input: 0, outputText: 0 }],
  ])("%s", (_, object, expected) => {
    expect(usageOfOpenAi(object)).toMatchObject(expected);
  });

  test("buckets are disjoint: they sum to the counts, whatever the details say", () => {
    const count = fc.nat(1_000_000);
    fc.assert(
      fc.property(count, count, count, count, count, count, (prompt, completion, cached, audio, reasoning, total) => {
        const object = {
          prompt_tokens: prompt,
          completion_tokens: completion,
          total_tokens: total,
          prompt_tokens_details: { cached_tokens: cached, audio_tokens: audio },
          completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: audio },
        };
        const usage = usageOfOpenAi(object);
        expect(promptTokens(usage)).toBe(prompt);
        expect(completionTokens(usage)).toBe(completionTokensOf(object));
        expect(Math.min(usage.input, usage.outputText, usage.cacheRead, usage.reasoning)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

test("openAiUsage and usageOfOpenAi are each other's inverse for OpenAI's fields", () => {
  const count = fc.nat(1_000_000);
  fc.assert(
    fc.property(count, count, count, count, (input, cacheRead, outputText, reasoning) => {
      const usage = { ...usageOfOpenAi({}), input, cacheRead, outputText, reasoning };
      const object = openAiUsage(usage, true);
      expect(usageOfOpenAi(object)).toEqual(usage);
      expect(object["total_tokens"]).toBe(input + cacheRead + outputText + reasoning);
    }),
  );
});

test("cache counts are added only without strict compatibility", () => {
  const usage = { ...usageOfOpenAi({ prompt_tokens: 9 }), cacheRead: 4, cacheWrite5m: 2, cacheWrite1h: 1 };
  expect(openAiUsage(usage, true)).not.toHaveProperty("cache_read_input_tokens");
  expect(openAiUsage(usage, false)).toMatchObject({ prompt_tokens: 16, cache_read_input_tokens: 4, cache_creation_input_tokens: 3 });
});
