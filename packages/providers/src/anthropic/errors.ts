import { isObject, type JsonObject, typeOfStatus } from "@unigate/core";
import { objectIn, objectOf, stringOf } from "../chat/json-value.ts";
import type { ProviderError } from "../define.ts";
import { providerText, retryAfterOfText, unreadableText } from "../shapes/errors/text.ts";

/** A non-2xx answer. `provider` is the id in front of the message: other services speak this API too. Never throws. */
export function readAnthropicError(status: number, body: Buffer, provider: string): ProviderError {
  const text = body.toString("utf8");
  const answer = objectIn(text);
  if (answer !== null && isObject(answer["error"])) return providerError(status, answer["error"], provider);
  const message = stringOf(answer?.["message"]) || stringOf(answer?.["error"]) || stringOf(answer?.["detail"]);
  if (message !== "") return providerError(status, { message }, provider);
  return { status, message: unreadableText(provider, text), type: typeOfStatus(status), param: null, code: null };
}

/** An error that came with status 200, in a stream or as an answer: its kind tells the status that it stands for. */
export function inbandError(event: JsonObject, provider: string): ProviderError {
  const error = objectOf(event["error"]);
  return providerError(statusOfKind(error["type"]), error, provider);
}

function providerError(status: number, error: JsonObject, provider: string): ProviderError {
  const kind = stringOf(error["type"]).slice(0, 200);
  const text = providerText(stringOf(error["message"]) || kind || "(no message)");
  const retryAfterMs = status === 429 || status >= 500 ? retryAfterOfText(text) : undefined;
  return {
    status,
    message: `${provider} error: ${text}`,
    type: kind || typeOfStatus(status),
    param: null,
    code: kind || null,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

function statusOfKind(kind: unknown): number {
  switch (kind) {
    case "invalid_request_error":
      return 400;
    case "authentication_error":
      return 401;
    case "billing_error":
      return 402;
    case "permission_error":
      return 403;
    case "not_found_error":
      return 404;
    case "request_too_large":
      return 413;
    case "rate_limit_error":
      return 429;
    case "timeout_error":
      return 504;
    case "overloaded_error":
      return 529;
    default:
      return 500;
  }
}
