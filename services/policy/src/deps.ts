import type { Counters } from "@unigate/storage";
import type { Resolver } from "./resolver.ts";

export interface PolicyDeps {
  /** Where the limits are counted. Rejecting = the store is lost: rates pass. */
  readonly counters: Counters;
  /** Finds API keys and providers with their limits. */
  readonly resolver: Resolver;
  /** Told why a reservation passed uncounted. Must not throw. */
  readonly onStoreLost?: (cause: unknown) => void;
}
