import { emptyUsage, type JsonObject } from "@unigate/core";
import type { PreparedTarget } from "../pipeline/prepare-target.ts";
import type { Run } from "../pipeline/run-state.ts";
import { factsOf } from "../pipeline/steps/facts.ts";
import type { ResolvedTarget } from "../pipeline/steps/resolve-target.ts";

/** What a call would cost at list price, micro-USD: its prompt, and with the longest answer that it may ask for. Null = not known. */
export function estimateCost(run: Run, { shaped }: PreparedTarget, { provider }: ResolvedTarget): JsonObject {
  const { inputTokens, maxOutputTokens } = factsOf(run, shaped.model, shaped.stream, shaped.json ?? run.request.json);
  const costOf = (output: number): number | null =>
    shaped.model === ""
      ? null
      : run.deps.prices.costOf({
          provider: provider.id,
          model: shaped.model,
          responseModel: null,
          usage: { ...emptyUsage(), input: inputTokens, outputText: output, estimated: true },
          time: run.request.receivedAt,
        });
  return {
    input_tokens: inputTokens,
    max_output_tokens: maxOutputTokens ?? null,
    input_micro_usd: costOf(0),
    most_micro_usd: maxOutputTokens === undefined ? null : costOf(maxOutputTokens),
  };
}
