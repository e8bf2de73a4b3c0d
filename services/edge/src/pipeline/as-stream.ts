import { isObject, type JsonObject, jsonOf } from "@unigate/core";
import { replayChat } from "@unigate/providers";
import type { TargetOutcome } from "./target-outcome.ts";

/** A whole answer as the stream that the client asked for: from the cache, or rewritten by a check. */
export function asStream(outcome: TargetOutcome, body: Buffer): Buffer {
  const options = outcome.shaped.json?.["stream_options"];
  return Buffer.from(replayChat(jsonOf(body) as JsonObject, isObject(options) && options["include_usage"] === true));
}
