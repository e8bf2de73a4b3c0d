import { boundedJson, isObject, type JsonObject, typeOfStatus } from "@unigate/core";
import { listOf, objectOf, stringOf } from "../chat/json-value.ts";
import type { ProviderError } from "../define.ts";
import { providerText, retryAfterOfText, unreadableText } from "../shapes/errors/text.ts";

/** A non-2xx answer. `provider` is the id in front of the message: Vertex AI has the same errors. Never throws. */
export function readGoogleError(status: number, body: Buffer, provider: string): ProviderError {
  const text = body.toString("utf8");
  let answer: unknown;
  try {
    answer = boundedJson(text);
  } catch {
    // HTML pages come for unknown hosts and paths.
  }
  const error = errorObject(answer);
  if (error === null) return { status, message: unreadableText(provider, text), type: typeOfStatus(status), param: null, code: null };
  return providerError(status, error, provider);
}

/** An error that came with status 200, as an event or an answer; null when the value is none. */
export function inbandError(value: unknown, provider: string): ProviderError | null {
  const error = errorObject(value);
  if (error === null) return null;
  const code = error["code"];
  return providerError(typeof code === "number" && code >= 400 && code <= 599 ? code : 500, error, provider);
}

/** The `error` object; it may come in a list of one. */
function errorObject(value: unknown): JsonObject | null {
  const answer: unknown = Array.isArray(value) ? value[0] : value;
  if (!isObject(answer) || answer["error"] == null) return null;
  return isObject(answer["error"]) ? answer["error"] : { message: stringOf(answer["error"]) };
}

function providerError(status: number, error: JsonObject, provider: string): ProviderError {
  const details = listOf(error["details"]).filter(isObject);
  const text = providerText(stringOf(error["message"]) || stringOf(error["status"]) || "(no message)");
  const retryAfterMs = retryDelay(details) ?? (status === 429 || status >= 500 ? retryAfterOfText(text) : undefined);
  // A bad key is a 400 here; its status stays.
  const badKey = details.some((detail) => detail["reason"] === "API_KEY_INVALID");
  return {
    status,
    message: `${provider} error: ${text}`,
    type: badKey ? "authentication_error" : typeOfStatus(status),
    param: violatedField(details),
    code: stringOf(error["status"]).slice(0, 200) || null,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** RetryInfo's `retryDelay`, a duration such as "34.4s", in ms. */
function retryDelay(details: readonly JsonObject[]): number | undefined {
  for (const detail of details) {
    const delay = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(stringOf(detail["retryDelay"]))?.[1];
    if (delay !== undefined) return Math.ceil(Number(delay) * 1000);
  }
  return undefined;
}

/** The first field that BadRequest names. */
function violatedField(details: readonly JsonObject[]): string | null {
  for (const detail of details) {
    const field = stringOf(objectOf(listOf(detail["fieldViolations"])[0])["field"]);
    if (field !== "") return field.slice(0, 200);
  }
  return null;
}
