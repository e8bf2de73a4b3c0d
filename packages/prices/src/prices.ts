import type { Usage } from "@unigate/core";
import { priceListIds } from "./price-list-id.ts";
import { priceOf, type Rates, ratesOf } from "./rates.ts";

/** A provider whose calls are priced. */
export interface PricedProvider {
  /** Identifier of the catalogue. */
  readonly id: string;
  readonly baseUrl: string | null;
}

/** An answered call. */
export interface PricedCall {
  /** Identifier of the catalogue. */
  readonly provider: string;
  /** As it was requested. */
  readonly model: string | null;
  /** As the provider named it; the more exact of the two. */
  readonly responseModel: string | null;
  readonly usage: Usage;
  /** Unix ms: prices change, some with the hour. */
  readonly time: number;
}

/** What calls cost, by the list prices that came with the gateway. */
export interface Prices {
  /**
   * Whole micro-USD, at least 1 when anything is to be paid; null when the price is not known: never 0 for that. Units
   * other than tokens, requests and searches of the web are not priced. Costs below a microsecond once a model is known.
   */
  costOf(call: PricedCall): number | null;
}

/** Rates of one model, looked up once; those that change with time once a minute. */
interface KnownRates {
  readonly rates: Rates | null;
  /** The minute they hold for; null = always. */
  readonly minute: number | null;
}

const MINUTE_MS = 60_000;
/** Models come from clients: so many are remembered, and none whose name is longer. */
const MAX_MODELS = 2_000;
const MAX_NAME = 200;

/**
 * Loads the price list, which takes some 70 ms and 13 MB: to be awaited before requests come. Nothing is fetched: the
 * list is the one of the installed package.
 */
export async function openPrices(catalogue: readonly PricedProvider[]): Promise<Prices> {
  const { calcPrice, findProvider } = await import("@pydantic/genai-prices");
  const listIds = priceListIds(catalogue, findProvider);
  const known = new Map<string, KnownRates>();

  /** Takes 100 us: the list is searched with patterns. */
  function lookUp(providerId: string, model: string, minute: number): KnownRates {
    const found = calcPrice({}, model, { providerId, timestamp: new Date(minute * MINUTE_MS) });
    if (found === null) return { rates: null, minute: null };
    return { rates: ratesOf(found.model_price), minute: Array.isArray(found.model.prices) ? minute : null };
  }

  function ratesFor(provider: string, model: string | null, time: number): Rates | null {
    const listId = listIds.get(provider);
    if (listId === undefined || model === null || model === "" || model.length > MAX_NAME) return null;
    const key = `${listId}\n${model}`;
    const minute = Math.floor(time / MINUTE_MS);
    const before = known.get(key);
    if (before !== undefined && (before.minute === null || before.minute === minute)) return before.rates;
    const found = lookUp(listId, model, minute);
    if (before === undefined && known.size >= MAX_MODELS) forgetOldest(known);
    known.set(key, found);
    return found.rates;
  }

  return {
    costOf({ provider, model, responseModel, usage, time }) {
      const rates = ratesFor(provider, responseModel, time) ?? ratesFor(provider, model, time);
      if (rates === null) return null;
      const micro = priceOf(usage, rates);
      if (micro === null || !(micro >= 0 && micro <= Number.MAX_SAFE_INTEGER)) return null;
      return micro === 0 ? 0 : Math.max(1, Math.round(micro));
    },
  };
}

function forgetOldest(known: Map<string, unknown>): void {
  for (const key of known.keys()) {
    known.delete(key);
    return;
  }
}
