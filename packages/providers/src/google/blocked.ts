import { isObject, type JsonObject } from "@unigate/core";
import { objectOf } from "../chat/json-value.ts";

/** Whether the answer says that the prompt was blocked: it then has no candidates. */
export function isBlocked(answer: JsonObject): boolean {
  const reason = objectOf(answer["promptFeedback"])["blockReason"];
  return typeof reason === "string" ? reason !== "BLOCK_REASON_UNSPECIFIED" : typeof reason === "number" && reason > 0;
}

/** Whether this is an answer of generateContent, or a piece of one. */
export function isAnswer(value: unknown): value is JsonObject {
  return isObject(value) && (Array.isArray(value["candidates"]) || isObject(value["promptFeedback"]) || isObject(value["usageMetadata"]));
}

/** Unix seconds of `createTime`, which only some answers have; else 0. */
export function createdOf(answer: JsonObject): number {
  const time = typeof answer["createTime"] === "string" ? Date.parse(answer["createTime"]) : Number.NaN;
  return Number.isFinite(time) ? Math.floor(time / 1000) : 0;
}
