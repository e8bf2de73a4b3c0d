import type { Clock } from "@unigate/core";
import type { KeyValue } from "@unigate/storage";

export interface CacheDeps {
  /** Where the entries are kept. Rejecting = the cache is down, which its caller takes as a miss. */
  readonly store: KeyValue;
  readonly clock: Clock;
}
