import { calcPrice, waitForUpdate } from "@pydantic/genai-prices";
import { emptyUsage, promptTokens, type Usage } from "@unigate/core";
import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { priceOf, ratesOf } from "./rates.ts";

const count = fc.oneof(fc.constant(0), fc.nat(1_000), fc.nat(400_000));
const counts = fc.record({ input: count, cacheRead: count, cacheWrite1h: count, audioIn: count, outputText: count, audioOut: count });

test("every model of the list costs what the list's own code says", async () => {
  const warn = vi.spyOn(console, "warn");
  const timestamp = new Date(Date.UTC(2026, 5, 1, 12));
  const listed = (await waitForUpdate()) ?? [];
  const all = listed.flatMap(({ id: providerId, models }) =>
    models.flatMap(({ id }) => [
      { providerId, model: id, silent: { audioIn: 0, audioOut: 0 } },
      { providerId, model: id, silent: {} },
    ]),
  );
  const usages = fc.sample(counts, { numRuns: all.length, seed: 11 });
  let compared = 0;
  for (const [index, { providerId, model, silent }] of all.entries()) {
    const usage: Usage = { ...emptyUsage(), ...usages[index], ...silent };
    const tokens = {
      input_tokens: promptTokens(usage),
      cache_read_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite1h,
      cache_write_1h_tokens: usage.cacheWrite1h,
      input_audio_tokens: usage.audioIn,
      cache_audio_read_tokens: 0,
      output_tokens: usage.outputText + usage.audioOut,
      output_audio_tokens: usage.audioOut,
    };
    const found = calcPrice(tokens, model, { providerId, timestamp });
    const rates = found === null ? null : ratesOf(found.model_price);
    const own = rates === null ? null : priceOf(usage, rates);
    if (found === null || own === null) continue;
    expect(own, `${providerId} ${model}`).toBeCloseTo(found.total_price * 1e6, 3);
    compared += 1;
  }
  expect(compared).toBeGreaterThan(1_000);
  expect(warn).not.toHaveBeenCalled();
});

test("a model of which only pages or minutes have a price has none for tokens", () => {
  expect(ratesOf({})).toBeNull();
  expect(ratesOf({ input_document_kpages: 1 })).toBeNull();
});
