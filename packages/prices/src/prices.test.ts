import { calcPrice } from "@pydantic/genai-prices";
import { emptyUsage, type Usage } from "@unigate/core";
import { describe, expect, test } from "vitest";
import { openPrices, type PricedCall } from "./prices.ts";

const CATALOGUE = [
  { id: "openai", baseUrl: "https://api.openai.com/v1" },
  { id: "anthropic", baseUrl: "https://api.anthropic.com/v1" },
  { id: "google", baseUrl: "https://generativelanguage.googleapis.com/v1beta" },
  { id: "perplexity-ai", baseUrl: "https://api.perplexity.ai" },
  { id: "deepseek", baseUrl: "https://api.deepseek.com" },
  { id: "azure-openai", baseUrl: null },
  { id: "mock", baseUrl: "https://mock.invalid/v1" },
];
const NOW = Date.UTC(2026, 5, 1, 12);
const prices = await openPrices(CATALOGUE);

function call(provider: string, model: string | null, usage: Partial<Usage>, more: Partial<PricedCall> = {}): PricedCall {
  return { provider, model, responseModel: null, usage: { ...emptyUsage(), ...usage }, time: NOW, ...more };
}
const cost = (...args: Parameters<typeof call>): number | null => prices.costOf(call(...args));

describe("by hand", () => {
  test.each<[string, string, Partial<Usage>, number]>([
    // 2.50 in, 1.25 cached, 10.00 out for a million: 1,000 x 2.5 + 400 x 1.25 + 200 x 10
    ["openai", "gpt-4o-2024-08-06", { input: 1_000, cacheRead: 400, outputText: 200 }, 5_000],
    // 1.10 and 4.40; reasoning is generated text: 500 x 1.1 + (100 + 900) x 4.4
    ["openai", "o3-mini", { input: 500, outputText: 100, reasoning: 900 }, 4_950],
    // 5 and 20 for text, 40 and 80 for audio: 10 x 5 + 20 x 40 + 30 x 20 + 40 x 80
    ["openai", "gpt-4o-realtime-preview", { input: 10, audioIn: 20, outputText: 30, audioOut: 40 }, 4_650],
    // 3, cache 3.75 (5 min), 6 (1 h), 0.30 (read), 15: 300 + 7,500 + 6,000 + 3,000 + 1,500
    [
      "anthropic",
      "claude-sonnet-4-5-20250929",
      { input: 100, cacheWrite5m: 2_000, cacheWrite1h: 1_000, cacheRead: 10_000, outputText: 100 },
      18_300,
    ],
    // Beyond 200,000 tokens of prompt everything is 6, 0.60 and 22.50: 150,000 x 6 + 60,000 x 0.6 + 1,000 x 22.5
    ["anthropic", "claude-sonnet-4-5-20250929", { input: 150_000, cacheRead: 60_000, outputText: 1_000 }, 958_500],
    // 10 USD for a thousand searches: 15 x 100 + 2 x 10,000
    ["anthropic", "claude-opus-4-1-20250805", { input: 100, units: { web_search_requests: 2, web_fetch_requests: 5 } }, 21_500],
    // 1.25 and 10
    ["google", "gemini-2.5-pro", { input: 2_000, outputText: 300, reasoning: 200 }, 7_500],
    // 0.30 for text, 1.00 for audio, 2.50 out
    ["google", "gemini-2.5-flash", { input: 1_000, audioIn: 1_000, outputText: 100 }, 1_550],
    // 14 USD for a thousand requests: 14,000 + 100 x 3 + 100 x 15
    ["perplexity-ai", "sonar-pro", { input: 100, outputText: 100 }, 15_800],
    // Rounded; but what costs anything is never 0: 5 x 0.02
    ["openai", "text-embedding-3-small", { input: 5 }, 1],
    ["openai", "gpt-4o", {}, 0],
  ])("%s %s", (provider, model, usage, micro) => {
    expect(cost(provider, model, usage)).toBe(micro);
  });
});

describe("null, never 0, when the price is not known", () => {
  test.each<[string, Parameters<typeof call>]>([
    ["a model that nobody knows", ["openai", "gpt-test", { input: 10 }]],
    ["no model", ["openai", null, { input: 10 }]],
    ["an empty one", ["openai", "", { input: 10 }]],
    ["an endless one", ["openai", `gpt-4o${"-x".repeat(200)}`, { input: 10 }]],
    ["a provider that the list does not have", ["mock", "gpt-4o", { input: 10 }]],
    ["a provider that the catalogue does not have", ["nobody", "gpt-4o", { input: 10 }]],
    ["audio without a price of its own", ["anthropic", "claude-opus-4-1", { input: 10, audioIn: 1 }]],
    ["text from a model that gives none", ["openai", "text-embedding-3-small", { input: 10, outputText: 1 }]],
    ["more tokens than there are", ["openai", "gpt-4o", { input: Number.MAX_SAFE_INTEGER }]],
    ["no number", ["openai", "gpt-4o", { input: Number.NaN }]],
    ["less than nothing", ["openai", "gpt-4o", { input: -10 }]],
  ])("%s", (_case, args) => {
    expect(cost(...args)).toBeNull();
  });
});

test("the provider's own name of the model counts first, then the requested one", () => {
  const usage = { input: 1_000_000 };
  expect(cost("openai", "gpt-4o", usage, { responseModel: "gpt-4o-mini-2024-07-18" })).toBe(150_000);
  expect(cost("openai", "gpt-4o", usage, { responseModel: "deployment-7" })).toBe(2_500_000);
  expect(cost("azure-openai", "deployment-7", usage, { responseModel: "gpt-4o-2024-08-06" })).toBe(2_500_000);
});

test("a price that changes with time is the one of its time", async () => {
  const at = (year: number, month: number, hour: number) => ({ time: Date.UTC(year, month, 20, hour) });
  const usage = { input: 1_000_000 };
  const times = [at(2025, 6, 18), at(2025, 6, 8), at(2026, 9, 2), at(2026, 9, 18), at(2025, 6, 18)];
  const expected = times.map(({ time }) => {
    const found = calcPrice({ input_tokens: 1_000_000 }, "deepseek-chat", { providerId: "deepseek", timestamp: new Date(time) });
    return Math.round((found?.total_price ?? 0) * 1e6);
  });
  expect(new Set(expected).size).toBeGreaterThan(1);
  expect(times.map((time) => cost("deepseek", "deepseek-chat", usage, time))).toEqual(expected);
});
