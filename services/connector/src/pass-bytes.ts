import { Blame, type ReplyPart } from "@unigate/contracts";
import type { Exchange } from "@unigate/http";
import { proxiedHeaders } from "./answer-headers.ts";
import { PartQueue } from "./part-queue.ts";
import { chunkParts, endPart, headPart } from "./parts.ts";

/** A proxied answer: status, headers and bytes as received (DESIGN 8.10). One that is cut ends incomplete. */
export function passBytes(answer: Exchange): AsyncIterable<ReplyPart> {
  const queue = new PartQueue(answer);
  queue.push(
    headPart({
      status: answer.status,
      headers: proxiedHeaders(answer.rawHeaders),
      blame: Blame.UNSPECIFIED,
      bytesSent: true,
      upstreamMs: answer.upstreamMs,
      transformed: false,
      failure: undefined,
    }),
  );
  answer.consume({
    onData(chunk) {
      for (const part of chunkParts(chunk)) queue.push(part);
    },
    onEnd() {
      queue.push(endPart({ complete: true }));
      queue.end();
    },
    onError() {
      queue.push(
        endPart({
          complete: false,
          failure: {
            code: "upstream_incomplete",
            message: "The provider's answer ended before it was complete.",
            param: "",
            status: 502,
            type: "api_error",
          },
        }),
      );
      queue.end();
    },
  });
  return queue;
}
