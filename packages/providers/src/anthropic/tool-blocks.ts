import { isObject, type JsonObject } from "@unigate/core";
import { listOf, objectIn, objectOf, stringOf } from "../chat/json-value.ts";
import { blocksOf } from "./content.ts";

/** The `tool_use` blocks of an assistant message, from `tool_calls` or the older `function_call`. */
export function toolUseBlocks(message: JsonObject): JsonObject[] {
  const blocks: JsonObject[] = [];
  for (const call of listOf(message["tool_calls"])) {
    if (!isObject(call)) continue;
    const called = objectOf(call["function"]);
    const name = stringOf(called["name"]);
    const block: JsonObject = { type: "tool_use", id: idOf(stringOf(call["id"]), name), name, input: inputOf(called["arguments"]) };
    if (call["cache_control"] != null) block["cache_control"] = call["cache_control"];
    blocks.push(block);
  }
  if (blocks.length === 0 && isObject(message["function_call"])) {
    const name = stringOf(message["function_call"]["name"]);
    blocks.push({ type: "tool_use", id: idOf("", name), name, input: inputOf(message["function_call"]["arguments"]) });
  }
  return blocks;
}

/** The `tool_result` block of a message with role `tool` or `function`. */
export function resultBlock(message: JsonObject, where: string): JsonObject {
  const block: JsonObject = { type: "tool_result", tool_use_id: idOf(stringOf(message["tool_call_id"]), stringOf(message["name"])) };
  const content = blocksOf(message["content"], where);
  if (content.length > 0) block["content"] = content;
  if (typeof message["is_error"] === "boolean") block["is_error"] = message["is_error"];
  if (message["cache_control"] != null) block["cache_control"] = message["cache_control"];
  return block;
}

/**
 * Ids stay as they are; other providers' may hold characters that the API refuses. The older function calls have none:
 * the name serves.
 */
function idOf(id: string, name: string): string {
  return (id === "" ? `call_${name}` : id).replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

/** The arguments text as an object. What is no JSON object is passed under `arguments`, so that the model still sees it. */
function inputOf(value: unknown): JsonObject {
  if (isObject(value)) return value;
  const text = stringOf(value);
  return text.trim() === "" ? {} : (objectIn(text) ?? { arguments: text });
}
