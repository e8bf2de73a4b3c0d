import type { Outside, PostFailure, PostRequest } from "@unigate/checks";
import { boundCall, type Call } from "@unigate/core";
import type { EgressGuard, Sender, SendFailure } from "@unigate/http";

const NOTHING = Buffer.alloc(0);
const NOT_ALLOWED = "its host leads to an address that is not allowed (UNIGATE_EGRESS_ALLOW can allow it)";

/** Posts to addresses from users, past the egress guard that the sender has as well. */
export function createPost(guard: Pick<EgressGuard, "checkUrl">, sender: Pick<Sender, "send">): Outside["post"] {
  return async (request, call) => {
    const checked = guard.checkUrl(request.url);
    if (!checked.ok) return failure("refused", `the address is refused: ${checked.reason}`);
    const bounded = boundCall(call, request.timeoutMs);
    try {
      return await exchange(sender, request, checked.url, bounded.call, call);
    } finally {
      bounded.done();
    }
  };
}

async function exchange(
  sender: Pick<Sender, "send">,
  { headers, body, maxAnswerBytes }: PostRequest,
  url: URL,
  bounded: Call,
  call: Call,
): ReturnType<Outside["post"]> {
  const answer = await sender.send(
    {
      method: "POST",
      url,
      headers: { ...headers, "accept-encoding": "identity" },
      body,
      connectTimeoutMs: 0,
      headersTimeoutMs: 0,
      trusted: false,
    },
    bounded,
  );
  if (answer.kind === "failed") return failureOf(answer, call);
  const { status } = answer;
  if (status < 200 || status > 299) {
    answer.cancel();
    return { kind: "answer", status, body: NOTHING };
  }
  const read = await answer.readAll(maxAnswerBytes);
  return Buffer.isBuffer(read) ? { kind: "answer", status, body: read } : failureOf(read, call);
}

/** Never the cause: it may name addresses. */
function failureOf({ code }: SendFailure, call: Call): PostFailure {
  switch (code) {
    case "refused_address":
      return failure("refused", `the address is refused: ${NOT_ALLOWED}`);
    case "cancelled":
      return call.cancel.cancelled ? failure("cancelled", "the request was given up") : failure("timeout", "it took too long");
    case "connect_timeout":
    case "headers_timeout":
      return failure("timeout", "it took too long");
    case "too_large":
      return failure("too_large", "its answer is too large");
    case "invalid_request":
    case "request_body":
      return failure("unreachable", "the request cannot be sent");
    case "unreadable":
      return failure("unreachable", "its answer is not HTTP");
    case "unreachable":
      return failure("unreachable", "it cannot be reached");
    case "reset":
      return failure("unreachable", "the connection broke off");
  }
}

function failure(code: PostFailure["code"], reason: string): PostFailure {
  return { kind: "failed", code, reason };
}
