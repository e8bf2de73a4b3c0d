import { isObject, type JsonObject } from "@unigate/core";
import { listOf, objectOf, stringOf } from "../chat/json-value.ts";

/** `tools` and the function calling config of a request; null = not sent. */
export interface ToolFields {
  readonly tools: JsonObject[] | null;
  readonly calling: JsonObject | null;
}

/** Google's own tools, by the names clients give them as a function without parameters. */
const BUILT_IN = new Set(
  `google_search googleSearch google_search_retrieval googleSearchRetrieval code_execution codeExecution url_context
   urlContext google_maps googleMaps enterprise_web_search enterpriseWebSearch`.split(/\s+/),
);

/**
 * OpenAI's tools and tool choice, the older `functions` and `function_call` too. Functions declare their parameters as
 * `parametersJsonSchema`: the API takes JSON Schema there as it is, `$ref` and `additionalProperties` included, while
 * `parameters` is a smaller language that schemas would have to be cut down to.
 */
export function toolFields(json: JsonObject): ToolFields {
  const declarations: JsonObject[] = [];
  const own: JsonObject[] = [];
  for (const tool of listOf(json["tools"])) {
    if (!isObject(tool)) continue;
    const declared = tool["function"];
    if (!isObject(declared)) own.push(ownTool(tool));
    else if (declared["parameters"] === undefined && BUILT_IN.has(stringOf(declared["name"])))
      own.push({ [stringOf(declared["name"])]: {} });
    else declarations.push(declaration(declared));
  }
  for (const declared of listOf(json["functions"])) if (isObject(declared)) declarations.push(declaration(declared));
  const tools = declarations.length === 0 ? own : [...own, { functionDeclarations: declarations }];
  return {
    tools: tools.length === 0 ? null : tools,
    calling: declarations.length === 0 ? null : callingConfig(json["tool_choice"] ?? json["function_call"]),
  };
}

/** `{google_search: {}}` passes as it is; `{type: "google_search"}` is a way to write it. */
function ownTool(tool: JsonObject): JsonObject {
  const type = stringOf(tool["type"]);
  const rest = Object.fromEntries(Object.entries(tool).filter(([key]) => key !== "type"));
  return Object.keys(rest).length === 0 && type !== "" ? { [type]: {} } : rest;
}

function declaration(declared: JsonObject): JsonObject {
  const made: JsonObject = { name: stringOf(declared["name"]) };
  if (typeof declared["description"] === "string") made["description"] = declared["description"];
  if (isObject(declared["parameters"])) made["parametersJsonSchema"] = plainSchema(declared["parameters"]);
  return made;
}

/** A schema without the name of its own dialect, which the API does not know. */
export function plainSchema(schema: JsonObject): JsonObject {
  if (schema["$schema"] === undefined) return schema;
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "$schema"));
}

function callingConfig(choice: unknown): JsonObject | null {
  if (typeof choice === "string") return modeOf(choice);
  const named = objectOf(choice);
  const allowed = objectOf(named["allowed_tools"]);
  if (Array.isArray(allowed["tools"])) {
    const names = listOf(allowed["tools"]).map((tool) => stringOf(objectOf(objectOf(tool)["function"])["name"]));
    // Only "ANY" takes a list of names; "auto" over some of the tools has no counterpart.
    return allowed["mode"] === "required" ? { mode: "ANY", allowedFunctionNames: names.filter((name) => name !== "") } : { mode: "AUTO" };
  }
  const name = stringOf(objectOf(named["function"])["name"]) || stringOf(named["name"]);
  return name === "" ? null : { mode: "ANY", allowedFunctionNames: [name] };
}

function modeOf(word: string): JsonObject | null {
  switch (word) {
    case "auto":
      return { mode: "AUTO" };
    case "none":
      return { mode: "NONE" };
    case "required":
    case "any":
      return { mode: "ANY" };
    default:
      return null;
  }
}
