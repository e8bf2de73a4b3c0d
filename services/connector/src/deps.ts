import type { Clock } from "@unigate/core";
import type { Sender } from "@unigate/http";
import type { Sealer } from "@unigate/secrets";
import type { BaseUrls } from "./base-url.ts";

/** What the connector is given. */
export interface ConnectorDeps {
  readonly sender: Sender;
  readonly baseUrls: BaseUrls;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** Largest unary answer that is read into memory, bytes. */
  readonly maxAnswerBytes: number;
}
