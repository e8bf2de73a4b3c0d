import type { ReplyPart, RequestPart } from "@unigate/contracts";
import { type Call, GatewayError } from "@unigate/core";
import type { ConnectorDeps } from "./deps.ts";
import { invokeStream } from "./invoke-stream.ts";

/** A streamed upload: the first part opens, data follows, `end` completes. Without `end` the client was cut. */
export async function* exchangeUpload(deps: ConnectorDeps, parts: AsyncIterable<RequestPart>, call: Call): AsyncGenerator<ReplyPart> {
  const iterator = parts[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true || first.value.part?.$case !== "open") throw new Error("an exchange starts with open");
  yield* invokeStream(deps, first.value.part.value, call, dataOf(iterator));
}

async function* dataOf(iterator: AsyncIterator<RequestPart>): AsyncGenerator<Buffer> {
  for (;;) {
    const next = await iterator.next();
    if (next.done === true) throw new GatewayError("client_closed", "The upload ended before it was complete.");
    const { part } = next.value;
    if (part?.$case === "end") return;
    if (part?.$case === "data") yield part.value;
  }
}
