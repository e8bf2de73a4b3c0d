import { isObject, type JsonObject } from "@unigate/core";
import { countOf, listOf, objectOf, stringOf } from "../chat/json-value.ts";
import { thinkingConfig } from "./thinking.ts";
import { plainSchema } from "./tools.ts";

/** OpenAI's number fields that are passed under another name. */
const NUMBERS: readonly (readonly [string, string])[] = [
  ["temperature", "temperature"],
  ["top_p", "topP"],
  ["top_k", "topK"],
  ["seed", "seed"],
  ["presence_penalty", "presencePenalty"],
  ["frequency_penalty", "frequencyPenalty"],
];

/** Fields of the generation config itself that clients may put at the top of the body, in either spelling. */
export const OWN_SETTINGS: ReadonlyMap<string, string> = new Map(
  [
    "thinkingConfig",
    "responseModalities",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "speechConfig",
    "imageConfig",
    "mediaResolution",
    "audioTimestamp",
    "routingConfig",
    "enableEnhancedCivicAnswers",
  ].flatMap((name) => [[name, name] as const, [snakeCase(name), name] as const]),
);

/** The `generationConfig` of a request. `own`: Google's fields that the client set itself; they win. */
export function generationConfig(json: JsonObject, own: JsonObject, model: string, strict: boolean): JsonObject {
  const config: JsonObject = {};
  const limit = countOf(json["max_completion_tokens"]) || countOf(json["max_tokens"]);
  if (limit > 0) config["maxOutputTokens"] = limit;
  for (const [name, theirs] of NUMBERS) if (typeof json[name] === "number") config[theirs] = json[name];
  if (countOf(json["n"]) > 1) config["candidateCount"] = json["n"];
  const stops = stopsOf(json["stop"]);
  if (stops.length > 0) config["stopSequences"] = stops;
  if (json["logprobs"] === true) {
    config["responseLogprobs"] = true;
    if (countOf(json["top_logprobs"]) > 0) config["logprobs"] = json["top_logprobs"];
  }
  addFormat(config, objectOf(json["response_format"]));
  const modalities = listOf(json["modalities"])
    .map(stringOf)
    .filter((name) => name !== "");
  if (modalities.length > 0) config["responseModalities"] = modalities.map((name) => name.toUpperCase());
  const thinking = thinkingConfig(json, model, strict);
  if (thinking !== null) config["thinkingConfig"] = thinking;
  return { ...config, ...own };
}

function stopsOf(stop: unknown): string[] {
  const stops = typeof stop === "string" ? [stop] : listOf(stop).filter((text) => typeof text === "string");
  return stops.filter((text) => text !== "");
}

function addFormat(config: JsonObject, format: JsonObject): void {
  if (format["type"] !== "json_object" && format["type"] !== "json_schema") return;
  config["responseMimeType"] = "application/json";
  const schema = objectOf(format["json_schema"])["schema"];
  if (isObject(schema)) config["responseJsonSchema"] = plainSchema(schema);
}

/** `safetySettings` -> `safety_settings`. */
function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
