import { boundedJson, deeperThan, isObject, type JsonObject, MAX_JSON_DEPTH, typeOfStatus } from "@unigate/core";
import type { ProviderError } from "../../define.ts";
import { cut, providerText, retryAfterOfText, unreadableText } from "../errors/text.ts";

/** What an error body says, whichever vendor wrote it. */
interface Described {
  readonly text: string;
  readonly type: string | null;
  readonly param: string | null;
  readonly code: string | null;
  /** A status named inside the body. */
  readonly status: number | null;
  /** The error object itself, when it is of OpenAI's shape. */
  readonly raw: JsonObject | null;
}

/**
 * A non-2xx body of an OpenAI-shaped provider. Understood are `{error: {message, ...}}`, which is kept whole in `raw`,
 * and the vendors' variants: `{error: "text"}`, `{message}`, `{detail}`, `{object: "error"}`, lists, JSON text. Never throws.
 */
export function readOpenAiError(provider: string, status: number, body: Buffer): ProviderError {
  const text = body.toString("utf8");
  const described = describe(parsed(text) ?? parsed(eventData(text)));
  if (described === null) {
    return { status, message: unreadableText(provider, text), type: typeOfStatus(status), param: null, code: null };
  }
  return providerError(provider, status, described);
}

/** An error that came with status 200: in a stream's event, or instead of an answer. Null when the value is no error. */
export function inbandError(provider: string, value: unknown): ProviderError | null {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (!isObject(first) || !looksLikeError(first) || deeperThan(first, MAX_JSON_DEPTH)) return null;
  const described = describe(first);
  if (described === null) return null;
  return providerError(provider, described.status ?? statusOfWords(described), described);
}

/** A stream event that nobody can read. */
export function unreadableEvent(provider: string, data: string): ProviderError {
  return { status: 502, message: unreadableText(provider, data), type: typeOfStatus(502), param: null, code: "upstream_invalid" };
}

function providerError(provider: string, status: number, described: Described): ProviderError {
  const own = providerText(described.text);
  const retryAfterMs = status === 429 || status >= 500 ? retryAfterOfText(own) : undefined;
  return {
    status,
    message: described.raw === null ? `${provider} error: ${own}` : own,
    type: described.type ?? typeOfStatus(status),
    param: described.param,
    code: described.code,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(described.raw === null ? {} : { raw: described.raw }),
  };
}

/** The value of a JSON text; undefined when it is none, or nested so deep that nothing may walk it. */
function parsed(text: string): unknown {
  try {
    return boundedJson(text);
  } catch {
    return undefined;
  }
}

/** The data of the first event, where a refused stream was answered as a stream. */
function eventData(text: string): string {
  const at = text.startsWith("data:") ? 0 : text.indexOf("\ndata:") + 1;
  if (at === 0 && !text.startsWith("data:")) return "";
  const end = text.indexOf("\n", at);
  return text.slice(at + "data:".length, end < 0 ? text.length : end);
}

function looksLikeError(json: JsonObject): boolean {
  if (json["error"] != null || json["object"] === "error" || json["type"] === "error") return true;
  if (Array.isArray(json["choices"])) return false;
  if (json["detail"] != null) return true;
  return typeof json["message"] === "string" && (json["code"] != null || json["type"] != null || json["status"] != null);
}

function describe(value: unknown): Described | null {
  if (Array.isArray(value)) return isObject(value[0]) ? describe(value[0]) : null;
  if (typeof value === "string" && value.trim() !== "") return fields(value, {}, null);
  if (!isObject(value)) return null;
  const error = value["error"];
  if (isObject(error)) {
    const text = textOf(error["message"]) ?? textOf(error["detail"]) ?? textOf(error["error"]) ?? whole(error);
    return fields(text, error, typeof error["message"] === "string" ? error : null);
  }
  const text = textOf(value["message"]) ?? textOf(error) ?? textOf(value["detail"]) ?? textOf(value["errors"]);
  return text === null ? null : fields(text, value, null);
}

function fields(text: string, source: JsonObject, raw: JsonObject | null): Described {
  return {
    text,
    type: word(source["type"]),
    param: word(source["param"]),
    code: word(source["code"]) ?? word(source["status"]),
    status: statusIn(source),
    raw,
  };
}

/** The text of a message in any of the forms vendors give it; null when there is none. */
function textOf(value: unknown): string | null {
  if (typeof value === "string") return value.trim() === "" ? null : value;
  if (Array.isArray(value)) {
    const texts = value
      .slice(0, 10)
      .map(itemText)
      .filter((text) => text !== null);
    return texts.length === 0 ? null : texts.join("; ");
  }
  if (!isObject(value)) return null;
  return textOf(value["message"]) ?? textOf(value["detail"]) ?? (Object.keys(value).length === 0 ? null : whole(value));
}

/** One entry of a validation list: `{loc: ["body", "messages"], msg: "field required"}`. */
function itemText(item: unknown): string | null {
  if (!isObject(item)) return typeof item === "string" ? item : null;
  const text = item["msg"] ?? item["message"];
  if (typeof text !== "string") return null;
  const place = item["loc"];
  return Array.isArray(place) ? `${placeText(place)}: ${text}` : text;
}

function placeText(place: readonly unknown[]): string {
  return place
    .slice(0, 10)
    .filter((part) => typeof part === "string" || typeof part === "number")
    .join(".");
}

function whole(value: JsonObject): string {
  return cut(JSON.stringify(value), 500);
}

function word(value: unknown): string | null {
  if (typeof value === "string" && value !== "") return cut(value, 200);
  return typeof value === "number" ? String(value) : null;
}

function statusIn(source: JsonObject): number | null {
  for (const name of ["status_code", "status", "code", "raw_status_code"]) {
    const value = source[name];
    const status = typeof value === "string" ? Number(value) : value;
    if (typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 599) return status;
  }
  return null;
}

/** The status that goes with an in-band error that names none. */
function statusOfWords(described: Described): number {
  const words = `${described.type ?? ""} ${described.code ?? ""}`.toLowerCase();
  if (words.includes("overloaded") || words.includes("capacity")) return 529;
  if (words.includes("rate_limit") || words.includes("rate-limit") || words.includes("quota") || words.includes("too_many_requests"))
    return 429;
  if (words.includes("timeout")) return 504;
  if (words.includes("authentication") || words.includes("invalid_api_key")) return 401;
  if (words.includes("permission")) return 403;
  if (words.includes("not_found")) return 404;
  if (words.includes("invalid") || words.includes("tool_use_failed") || words.includes("context_length")) return 400;
  if (words.includes("unavailable")) return 503;
  return words.includes("server") || words.includes("internal") || words.includes("api_error") ? 500 : 502;
}
