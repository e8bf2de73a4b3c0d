import { createHash } from "node:crypto";
import type { JsonObject } from "@unigate/core";
import { objectOf, stringOf } from "../chat/json-value.ts";
import { extraContent } from "./signature.ts";

/** A whole call as the client sees it. */
export interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { name: string; arguments: string };
  readonly extra_content?: JsonObject;
}

/** Where a call stands in its response. */
export interface CallPlace {
  /** `responseId`; "" when there is none. */
  readonly response: string;
  readonly choice: number;
  readonly index: number;
}

/** A `functionCall` part as an OpenAI tool call. */
export function toolCallOf(call: JsonObject, signature: string, place: CallPlace): ToolCall {
  const name = stringOf(call["name"]);
  const text = JSON.stringify(objectOf(call["args"]));
  const id = stringOf(call["id"]) || madeId(name, text, place);
  const made: ToolCall = { id, type: "function", function: { name, arguments: text } };
  return signature === "" ? made : { ...made, extra_content: extraContent(signature) };
}

/**
 * An id for a call that has none (older models give none): made from the response's id and the place in it, so that it
 * is the same each time; short enough for every provider that may see the history later.
 */
function madeId(name: string, text: string, place: CallPlace): string {
  const seed = place.response || `${name} ${text}`;
  const base = /^[\w-]{1,26}$/.test(seed) ? seed : createHash("sha256").update(seed).digest("hex").slice(0, 24);
  return place.choice === 0 ? `call_${base}_${place.index}` : `call_${base}_${place.choice}_${place.index}`;
}
