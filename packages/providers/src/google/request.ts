import { bufferOfJson, isObject, type JsonObject } from "@unigate/core";
import { objectOf, stringOf } from "../chat/json-value.ts";
import { OPENAI_FIELDS } from "../chat/openai-fields.ts";
import type { BuildInput, UpstreamRequest } from "../define.ts";
import { contentsOf } from "./contents.ts";
import { generationConfig, OWN_SETTINGS } from "./generation-config.ts";
import { modelPath } from "./model-name.ts";
import { toolFields } from "./tools.ts";

/** A chat request as `generateContent` or `streamGenerateContent`. Throws `invalid_request` for a model name that is none. */
export function buildGenerateContent(input: BuildInput): UpstreamRequest {
  const verb = input.stream ? "streamGenerateContent?alt=sse" : "generateContent";
  return {
    method: "POST",
    path: `/${modelPath(input.model)}:${verb}`,
    headers: { "content-type": "application/json" },
    body: bufferOfJson(generateContentBody(input)),
  };
}

/** The body of a chat request in Google's words. */
function generateContentBody(input: BuildInput): JsonObject {
  const json = withExtraBody(input.json);
  const { system, contents } = contentsOf(json["messages"], input.model);
  const { tools, calling } = toolFields(json);
  const own = ownFields(json);

  const body: JsonObject = { contents };
  const prompt = [...ownSystem(own.body), ...system];
  if (prompt.length > 0) body["systemInstruction"] = { parts: prompt };
  if (tools !== null) body["tools"] = tools;
  const toolConfig = { ...(calling === null ? {} : { functionCallingConfig: calling }), ...objectOf(own.body["toolConfig"]) };
  if (Object.keys(toolConfig).length > 0) body["toolConfig"] = toolConfig;
  const config = generationConfig(json, { ...objectOf(own.body["generationConfig"]), ...own.config }, input.model, input.strict);
  if (Object.keys(config).length > 0) body["generationConfig"] = config;
  for (const [key, value] of Object.entries(own.body)) body[key] ??= value;
  return body;
}

/** `extra_body: {google: {...}}`, the way clients of Google's OpenAI surface send its own fields. */
function withExtraBody(json: JsonObject): JsonObject {
  const extra = objectOf(objectOf(json["extra_body"])["google"]);
  return Object.keys(extra).length === 0 ? json : { ...json, ...extra };
}

/** Every field that is not OpenAI's: those of the generation config apart, known ones in camel case. */
function ownFields(json: JsonObject): { body: JsonObject; config: JsonObject } {
  const body: JsonObject = {};
  const config: JsonObject = {};
  for (const [key, value] of Object.entries(json)) {
    if (OPENAI_FIELDS.has(key) || HANDLED.has(key) || value === null) continue;
    const setting = OWN_SETTINGS.get(key);
    if (setting !== undefined) config[setting] = value;
    else body[OWN_NAMES.get(key) ?? key] = value;
  }
  return { body, config };
}

/** A system instruction in Google's words: a content or a text. */
function ownSystem(own: JsonObject): JsonObject[] {
  const instruction = own["systemInstruction"];
  if (typeof instruction === "string") return instruction === "" ? [] : [{ text: instruction }];
  const parts = objectOf(instruction)["parts"];
  if (isObject(parts)) return [parts];
  return Array.isArray(parts) ? parts.filter(isObject).filter((part) => stringOf(part["text"]) !== "") : [];
}

/** Google's fields that change or are merged here; the wire takes both spellings of all others. */
const OWN_NAMES: ReadonlyMap<string, string> = new Map([
  ["safety_settings", "safetySettings"],
  ["cached_content", "cachedContent"],
  ["tool_config", "toolConfig"],
  ["generation_config", "generationConfig"],
  ["system_instruction", "systemInstruction"],
]);

/** Fields beyond OpenAI's that are translated, or mean another provider. */
const HANDLED = new Set(["thinking", "top_k", "contents", "anthropic_beta", "anthropic_version"]);
