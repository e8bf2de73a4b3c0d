import type { Clock } from "@unigate/core";
import type { KeyValue } from "@unigate/storage";

export interface CacheDeps {
  /** Where the entries are kept. While it is lost nothing is found and nothing is kept. */
  readonly store: KeyValue;
  readonly clock: Clock;
}
