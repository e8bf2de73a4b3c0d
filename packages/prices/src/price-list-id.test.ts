import { findProvider } from "@pydantic/genai-prices";
import { expect, test } from "vitest";
import { priceListIds } from "./price-list-id.ts";

test("a provider is recognised by its address, one without an address by name, a stranger not at all", () => {
  const catalogue = [
    { id: "together-ai", baseUrl: "https://api.together.xyz/v1" },
    { id: "z-ai", baseUrl: "https://api.z.ai/api/paas/v4" },
    { id: "bedrock", baseUrl: null },
    { id: "ollama", baseUrl: "http://localhost:11434/v1" },
    { id: "triton", baseUrl: null },
  ];
  expect(Object.fromEntries(priceListIds(catalogue, findProvider))).toEqual({ "together-ai": "together", "z-ai": "zai", bedrock: "aws" });
});
