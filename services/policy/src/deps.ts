import type { Resolver } from "@unigate/resolve";
import type { Counters } from "@unigate/storage";

export interface PolicyDeps {
  /** Where the limits are counted. Rejecting = the store is lost: each limit's on_store_loss says what happens. */
  readonly counters: Counters;
  /** Finds API keys and providers with their limits, and the organisation's policies. */
  readonly resolver: Pick<Resolver, "resolve">;
  /** Told why a reservation passed uncounted by a limit. Must not throw. */
  readonly onStoreLost?: (cause: unknown) => void;
}
