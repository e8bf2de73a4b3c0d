import { findProvider, waitForUpdate } from "@pydantic/genai-prices";
import { providers } from "@unigate/providers";
import { expect, test } from "vitest";
import { priceListIds } from "./price-list-id.ts";

const listed = ((await waitForUpdate()) ?? []).map(({ id }) => id);
const ids = priceListIds(providers, findProvider);
/** "mistral-ai", "mistralai" and "mistral" are one word. */
const wordOf = (id: string): string => id.replaceAll(/[^a-z\d]/g, "").replace(/ai$/, "");

test("every provider of the catalogue that the price list knows, by address or by name, has its prices", () => {
  const byWord = new Map(listed.map((id) => [wordOf(id), id]));
  for (const { id, baseUrl } of providers) {
    const known = byWord.get(wordOf(id)) ?? (baseUrl === null ? undefined : findProvider({ providerApiUrl: baseUrl })?.id);
    expect(ids.get(id), id).toBe(known ?? ids.get(id));
  }
  expect(ids.size).toBeGreaterThan(10);
});

test("no provider has the prices of one that the list does not have", () => {
  expect([...ids.values()].filter((id) => !listed.includes(id))).toEqual([]);
});
