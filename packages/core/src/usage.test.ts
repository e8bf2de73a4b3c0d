import { expect, test } from "vitest";
import { completionTokens, emptyUsage, promptTokens } from "./usage.ts";

test("nothing used is zero everywhere", () => {
  expect(promptTokens(emptyUsage())).toBe(0);
  expect(completionTokens(emptyUsage())).toBe(0);
  expect(emptyUsage().units).not.toBe(emptyUsage().units);
});

test("every bucket counts once, on its own side", () => {
  const usage = {
    ...emptyUsage(),
    input: 1,
    cacheRead: 2,
    cacheWrite5m: 4,
    cacheWrite1h: 8,
    audioIn: 16,
    outputText: 32,
    reasoning: 64,
    audioOut: 128,
    image: 256,
    units: { search: 1_000 },
  };
  expect(promptTokens(usage)).toBe(31);
  expect(completionTokens(usage)).toBe(480);
});
