import type { Resolver } from "@unigate/resolve";
import type { Counters } from "@unigate/storage";

export interface PolicyDeps {
  /** Where the limits are counted. Rejecting = the store is lost: rates pass. */
  readonly counters: Pick<Counters, "reserve" | "settle">;
  /** Finds API keys and providers with their limits. */
  readonly resolver: Pick<Resolver, "resolve">;
  /** Told why a reservation passed uncounted. Must not throw. */
  readonly onStoreLost?: (cause: unknown) => void;
}
