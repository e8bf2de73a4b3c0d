import { isObject, type JsonObject } from "@unigate/core";
import { listOf, objectOf, stringOf } from "../chat/json-value.ts";

/** `tools` and `tool_choice` of a request; null = the field is not sent. */
export interface ToolFields {
  readonly tools: JsonObject[] | null;
  readonly choice: JsonObject | null;
}

/**
 * OpenAI's tools, tool choice and `parallel_tool_calls`, the older `functions` and `function_call` too, in Anthropic's
 * words. `used`: names of tools in the history. Without tools of its own a request whose history has tool calls
 * declares those, choice "none", because the API wants every used tool declared.
 */
export function toolFields(json: JsonObject, used: readonly string[]): ToolFields {
  const tools = [
    ...listOf(json["tools"]).filter(isObject).map(toolOf),
    ...listOf(json["functions"])
      .filter(isObject)
      .map((declared) => functionTool(declared, {})),
  ];
  if (tools.length > 0) return { tools, choice: choiceOf(json) };
  if (used.length === 0) return { tools: null, choice: null };
  return { tools: used.map((name) => ({ name, input_schema: { type: "object" } })), choice: { type: "none" } };
}

/** A function tool translated; any other tool is Anthropic's own (`web_search_20250305`) and passes unchanged. */
function toolOf(tool: JsonObject): JsonObject {
  return isObject(tool["function"]) ? functionTool(tool["function"], tool) : tool;
}

/** `strict` of a function is not passed: Anthropic's strict mode takes far fewer schemas than OpenAI's. */
function functionTool(declared: JsonObject, tool: JsonObject): JsonObject {
  const made: JsonObject = { name: stringOf(declared["name"]) };
  if (typeof declared["description"] === "string") made["description"] = declared["description"];
  made["input_schema"] = { type: "object", ...objectOf(declared["parameters"]) };
  if (declared["cache_control"] != null) made["cache_control"] = declared["cache_control"];
  for (const [key, value] of Object.entries(tool)) {
    if (key !== "type" && key !== "function" && key !== "__proto__" && value !== null) made[key] = value;
  }
  return made;
}

/** The choice in the client's words: `tool_choice`, else the older `function_call`. */
function choiceOf(json: JsonObject): JsonObject | null {
  const choice = json["tool_choice"] ?? json["function_call"];
  const made = typeof choice === "string" ? choiceOfWord(choice) : choiceOfObject(objectOf(choice));
  if (json["parallel_tool_calls"] !== false || made?.["type"] === "none") return made;
  return { ...(made ?? { type: "auto" }), disable_parallel_tool_use: true };
}

function choiceOfWord(word: string): JsonObject | null {
  switch (word) {
    case "auto":
    case "none":
      return { type: word };
    case "required":
    case "any":
      return { type: "any" };
    default:
      return null;
  }
}

/** A named function in either spelling, a list of allowed tools (its mode counts), or Anthropic's own object. */
function choiceOfObject(choice: JsonObject): JsonObject | null {
  if (isObject(choice["allowed_tools"])) return choiceOfWord(stringOf(choice["allowed_tools"]["mode"]));
  const name = stringOf(objectOf(choice["function"])["name"]);
  if (name !== "") return { type: "tool", name };
  const type = stringOf(choice["type"]);
  if (type === "auto" || type === "any" || type === "tool" || type === "none") return choice;
  return stringOf(choice["name"]) === "" ? null : { type: "tool", name: choice["name"] };
}
