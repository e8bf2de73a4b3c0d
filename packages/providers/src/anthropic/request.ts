import { bufferOfJson, isObject, type JsonObject } from "@unigate/core";
import { listOf, objectOf, stringOf } from "../chat/json-value.ts";
import { OPENAI_FIELDS } from "../chat/openai-fields.ts";
import type { BuildInput, UpstreamRequest } from "../define.ts";
import { conversationOf, usedTools } from "./conversation.ts";
import { outputSchema } from "./output-schema.ts";
import { thinkingFields } from "./thinking.ts";
import { toolFields } from "./tools.ts";

/** The version of the API that these transforms speak. */
const API_VERSION = "2023-06-01";

/** A chat request as `POST /messages`. Throws `invalid_request` for content that the API cannot take. */
export function buildMessages(input: BuildInput): UpstreamRequest {
  return { method: "POST", path: "/messages", headers: headersOf(input), body: bufferOfJson(messagesBody(input)) };
}

/** The Messages body of a chat request. */
function messagesBody(input: BuildInput): JsonObject {
  const json = input.json;
  const { system, turns } = conversationOf(json["messages"]);
  const { tools, choice } = toolFields(json, usedTools(turns));
  const forced = choice?.["type"] === "any" || choice?.["type"] === "tool";
  const thinking = thinkingFields(json, input.model, turns, forced);

  const body: JsonObject = { model: input.model, max_tokens: thinking.maxTokens };
  const prompt = [...ownSystem(json["system"]), ...system, ...jsonInstruction(json["response_format"])];
  if (prompt.length > 0) body["system"] = prompt;
  body["messages"] = turns;
  if (tools !== null) body["tools"] = tools;
  if (choice !== null) body["tool_choice"] = choice;
  if (thinking.thinking !== undefined) body["thinking"] = thinking.thinking;
  addSampling(body, json, thinking.chosen);
  const stops = stopsOf(json["stop"]);
  if (stops.length > 0) body["stop_sequences"] = stops;
  const user = userOf(json);
  if (user !== "") body["metadata"] = { user_id: user };
  const outputConfig = outputConfigOf(json, thinking.effort);
  if (Object.keys(outputConfig).length > 0) body["output_config"] = outputConfig;
  const tier = json["service_tier"];
  if (tier === "auto" || tier === "standard_only") body["service_tier"] = tier;
  for (const [key, value] of Object.entries(json)) {
    if (!OPENAI_FIELDS.has(key) && !HANDLED.has(key) && value !== null) body[key] = value;
  }
  if (input.stream) body["stream"] = true;
  return body;
}

function headersOf(input: BuildInput): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json",
    "anthropic-version": input.headers["anthropic-version"] ?? (headerWord(input.json["anthropic_version"]) || API_VERSION),
  };
  const betas = [input.headers["anthropic-beta"] ?? "", ...betasOf(input.json["anthropic_beta"])].filter((beta) => beta !== "");
  if (betas.length > 0) headers["anthropic-beta"] = betas.join(",");
  return headers;
}

/** `anthropic_beta` of the body: a comma list or a list. */
function betasOf(value: unknown): string[] {
  return typeof value === "string" ? [headerWord(value)] : listOf(value).map(headerWord);
}

/** A text that may stand in a header, else "". */
function headerWord(value: unknown): string {
  const text = stringOf(value);
  return /^[\w.:, -]{1,1000}$/.test(text) ? text : "";
}

/** A top-level `system` of the client: Anthropic's own spelling. */
function ownSystem(system: unknown): JsonObject[] {
  if (typeof system === "string") return system.trim() === "" ? [] : [{ type: "text", text: system }];
  return listOf(system).filter(isObject);
}

/** The API has no JSON mode without a schema: the model is told. */
function jsonInstruction(format: unknown): JsonObject[] {
  if (objectOf(format)["type"] !== "json_object") return [];
  return [{ type: "text", text: "Answer with one JSON object and nothing else: no other words, no code fence." }];
}

/** The API takes no sampling settings beside thinking, other than its defaults. */
function addSampling(body: JsonObject, json: JsonObject, thinks: boolean): void {
  for (const key of ["temperature", "top_p", "top_k"]) {
    if (typeof json[key] === "number" && !thinks) body[key] = json[key];
  }
}

function stopsOf(stop: unknown): string[] {
  const stops = typeof stop === "string" ? [stop] : listOf(stop).filter((text) => typeof text === "string");
  return stops.filter((text) => text !== "");
}

function userOf(json: JsonObject): string {
  return stringOf(json["user"]) || stringOf(objectOf(json["metadata"])["user_id"]) || stringOf(json["safety_identifier"]);
}

/** `response_format` with a schema, an effort, and what the client set itself, which wins. */
function outputConfigOf(json: JsonObject, effort: string): JsonObject {
  const config: JsonObject = {};
  if (effort !== "") config["effort"] = effort;
  const format = objectOf(json["response_format"]);
  const schema = objectOf(format["json_schema"])["schema"];
  if (format["type"] === "json_schema" && isObject(schema)) config["format"] = { type: "json_schema", schema: outputSchema(schema) };
  return { ...config, ...objectOf(json["output_config"]) };
}

/** Fields beyond OpenAI's that are translated above. */
const HANDLED = new Set(["system", "thinking", "top_k", "output_config", "anthropic_beta", "anthropic_version"]);
