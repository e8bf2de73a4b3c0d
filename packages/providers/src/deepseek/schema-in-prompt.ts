import { isObject, type JsonObject } from "@unigate/core";

/**
 * For a vendor that can be made to answer JSON but not JSON of a schema: `response_format` json_schema becomes
 * json_object, and a system message at the front holds the schema. The same object when no schema is asked for.
 */
export function schemaInPrompt(json: JsonObject): JsonObject {
  const format = json["response_format"];
  const messages = json["messages"];
  if (!isObject(format) || format["type"] !== "json_schema" || !Array.isArray(messages)) return json;
  const schema = isObject(format["json_schema"]) ? format["json_schema"]["schema"] : undefined;
  const text = `Answer with one JSON object and nothing else. It must be valid against this JSON schema:\n${JSON.stringify(schema ?? {})}`;
  return {
    ...json,
    response_format: { type: "json_object" },
    messages: [{ role: "system", content: text }, ...(messages as unknown[])],
  };
}
