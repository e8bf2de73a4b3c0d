import { isObject, type JsonObject } from "@unigate/core";
import {
  checkBoolean,
  checkInteger,
  checkLogitBias,
  checkNumber,
  checkObject,
  checkObjects,
  checkStop,
  checkStreamOptions,
  refuse,
} from "./ranges.ts";

const MAX_TOOLS = 128;
const ROLES = new Set(["system", "developer", "user", "assistant", "tool", "function"]);

/**
 * POST /v1/chat/completions: the ranges of spec 4.1 and 8, checked shallowly on the parsed body. `model` may be absent
 * because a config can set it; unknown fields pass.
 */
export function checkChat(json: JsonObject): void {
  checkMessages(json["messages"]);
  const model = json["model"];
  if (model !== undefined && (typeof model !== "string" || model === "")) refuse("model", "a model name");
  checkNumber(json, "temperature", 0, 2);
  checkNumber(json, "top_p", 0, 1);
  checkNumber(json, "frequency_penalty", -2, 2);
  checkNumber(json, "presence_penalty", -2, 2);
  checkInteger(json, "n", 1, 128);
  checkInteger(json, "max_tokens", 0, Number.MAX_SAFE_INTEGER);
  checkInteger(json, "max_completion_tokens", 0, Number.MAX_SAFE_INTEGER);
  checkBoolean(json, "logprobs");
  checkInteger(json, "top_logprobs", 0, 20);
  if (json["top_logprobs"] != null && json["logprobs"] !== true) refuse("top_logprobs", "logprobs to be true when it is given");
  checkLogitBias(json);
  checkStop(json);
  checkStreamOptions(json);
  checkObjects(json, "tools", 0, MAX_TOOLS);
  checkObjects(json, "functions", 1, MAX_TOOLS);
  checkToolChoice(json["tool_choice"]);
  checkFunctionCall(json["function_call"]);
  checkBoolean(json, "parallel_tool_calls");
  checkObject(json, "response_format");
  checkObject(json, "thinking");
  checkInteger(json, "seed", -9.3e18, 9.3e18);
  if (json["user"] != null && typeof json["user"] !== "string") refuse("user", "a string");
}

function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages) || messages.length === 0) refuse("messages", "a list of at least one message");
  for (let index = 0; index < messages.length; index++) {
    const message: unknown = messages[index];
    if (!isObject(message)) refuse(`messages[${index}]`, 'an object such as {"role":"user","content":"..."}');
    const { role } = message;
    if (typeof role !== "string" || !ROLES.has(role))
      refuse(`messages[${index}].role`, "system, developer, user, assistant, tool or function");
    const { content } = message;
    if (content != null && typeof content !== "string" && !Array.isArray(content))
      refuse(`messages[${index}].content`, "a string or a list of parts");
  }
}

function checkToolChoice(choice: unknown): void {
  if (choice == null || isObject(choice) || choice === "none" || choice === "auto" || choice === "required") return;
  refuse("tool_choice", '"none", "auto", "required" or an object naming a function');
}

function checkFunctionCall(call: unknown): void {
  if (call == null || call === "none" || call === "auto" || (isObject(call) && typeof call["name"] === "string")) return;
  refuse("function_call", '"none", "auto" or an object such as {"name":"get_weather"}');
}
