export { openPrices, type PricedCall, type PricedProvider, type Prices } from "./prices.ts";
