import { promptTokens, type Usage } from "@unigate/core";

/** Prices of a model as the price list writes them: USD by unit, for a million tokens (`_mtok`) or a thousand other things (`_kcount`). */
export type ListedPrices = Readonly<Record<string, number | TieredPrice | undefined>>;

interface TieredPrice {
  readonly base: number;
  readonly tiers: readonly { readonly start: number; readonly price: number }[];
}

/** The price of one bucket of a usage; null when the list has none. */
type Rate = number | TieredPrice | null;

/** Prices of a model by the buckets of a usage, USD for a million tokens. */
export interface Rates {
  readonly input: Rate;
  readonly cacheRead: Rate;
  readonly cacheWrite5m: Rate;
  readonly cacheWrite1h: Rate;
  readonly audioIn: Rate;
  readonly outputText: Rate;
  readonly reasoning: Rate;
  readonly audioOut: Rate;
  readonly image: Rate;
  /** Micro-USD for a request, whatever is in it. */
  readonly request: number;
  /** Micro-USD for a search of the web. */
  readonly webSearch: number;
}

/** Words for searches of the web among the units of a usage. */
const WEB_SEARCHES = ["searches", "web_search_requests"] as const;

/**
 * Null when the list names the model and says nothing of tokens. Audio and images have a price of their own or none: text
 * is cheaper by a factor.
 */
export function ratesOf(listed: ListedPrices): Rates | null {
  const input = listed["input_mtok"] ?? null;
  const output = listed["output_mtok"] ?? null;
  if (input === null && output === null) return null;
  const cacheWrite = listed["cache_write_mtok"] ?? input;
  return {
    input,
    cacheRead: listed["cache_read_mtok"] ?? input,
    cacheWrite5m: listed["cache_write_5m_mtok"] ?? cacheWrite,
    cacheWrite1h: listed["cache_write_1h_mtok"] ?? cacheWrite,
    audioIn: listed["input_audio_mtok"] ?? null,
    outputText: output,
    reasoning: listed["output_reasoning_mtok"] ?? output,
    audioOut: listed["output_audio_mtok"] ?? null,
    image: listed["output_image_mtok"] ?? null,
    request: microOfOne(listed["requests_kcount"]),
    webSearch: microOfOne(listed["web_searches_kcount"]),
  };
}

/** Micro-USD, not rounded; null when tokens were used that have no price. */
export function priceOf(usage: Usage, rates: Rates): number | null {
  const prompt = promptTokens(usage);
  const tokens =
    priced(usage.input, rates.input, prompt) +
    priced(usage.cacheRead, rates.cacheRead, prompt) +
    priced(usage.cacheWrite5m, rates.cacheWrite5m, prompt) +
    priced(usage.cacheWrite1h, rates.cacheWrite1h, prompt) +
    priced(usage.audioIn, rates.audioIn, prompt) +
    priced(usage.outputText, rates.outputText, prompt) +
    priced(usage.reasoning, rates.reasoning, prompt) +
    priced(usage.audioOut, rates.audioOut, prompt) +
    priced(usage.image, rates.image, prompt);
  if (Number.isNaN(tokens)) return null;
  let searches = 0;
  for (const unit of WEB_SEARCHES) searches += usage.units[unit] ?? 0;
  return tokens + rates.request + searches * rates.webSearch;
}

/** USD for a million tokens are micro-USD for one. NaN = no price. A tier holds for all tokens once the prompt is longer than its start. */
function priced(tokens: number, rate: Rate, prompt: number): number {
  if (tokens === 0) return 0;
  if (rate === null) return Number.NaN;
  if (typeof rate === "number") return tokens * rate;
  let price = rate.base;
  for (const tier of rate.tiers) if (prompt > tier.start) price = tier.price;
  return tokens * price;
}

function microOfOne(listed: ListedPrices[string]): number {
  return typeof listed === "number" ? listed * 1_000 : 0;
}
