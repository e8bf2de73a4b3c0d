import type { Facts } from "@unigate/contracts";
import { expect, test } from "vitest";
import { estimateTokens } from "./estimate-tokens.ts";

test.each([
  [{ path: "/chat/completions", maxOutputTokens: 50 }, {}, 150],
  [{ path: "/chat/completions", maxOutputTokens: 50 }, { n: 3 }, 250],
  [{ path: "/chat/completions", maxOutputTokens: 50 }, { n: 1e9 }, 6_500],
  [{ path: "/chat/completions", maxOutputTokens: 50 }, { n: -1 }, 150],
  [{ path: "/chat/completions", maxOutputTokens: 50 }, { n: "3" }, 150],
  [{ path: "/chat/completions", maxOutputTokens: 0 }, null, 100],
  [{ path: "/chat/completions" }, {}, 4_196],
  [{ path: "/embeddings" }, {}, 100],
])("%j with %j is taken for %i tokens", (facts, json, expected) => {
  expect(estimateTokens({ inputTokens: 100, ...facts } as Facts, json)).toBe(expected);
});
