import { bufferOfJson, isObject, type JsonObject } from "@unigate/core";
import { headerText } from "../../auth/header-value.ts";
import type { BuildInput, UpstreamRequest } from "../../define.ts";
import type { OpenAiChatOptions } from "./options.ts";

const ASK_USAGE = Buffer.from('"stream_options":{"include_usage":true},');

/** The upstream request of a chat call. The client's bytes go as they are unless a field must change. */
export function buildRequest(input: BuildInput, options: OpenAiChatOptions): UpstreamRequest {
  const json = changed(input, options);
  const askUsage = input.stream && (options.streamUsage ?? "option") === "option" && !asksUsage(json);
  return {
    method: "POST",
    path: options.path ?? "/chat/completions",
    headers: requestHeaders(input, options),
    body: askUsage ? askingUsage(input, json) : bodyOf(input, json),
  };
}

function bodyOf(input: BuildInput, json: JsonObject): Buffer {
  return json === input.json ? input.body : bufferOfJson(json);
}

function asksUsage(json: JsonObject): boolean {
  const options = json["stream_options"];
  return isObject(options) && options["include_usage"] === true;
}

/** The body with `stream_options.include_usage`; spliced in where that saves writing the whole body anew. */
function askingUsage(input: BuildInput, json: JsonObject): Buffer {
  const options = json["stream_options"];
  const open = input.body.indexOf(0x7b) + 1;
  if (json === input.json && options === undefined && open > 0 && Object.keys(json).length > 0) {
    return Buffer.concat([input.body.subarray(0, open), ASK_USAGE, input.body.subarray(open)]);
  }
  return bufferOfJson({ ...json, stream_options: isObject(options) ? { ...options, include_usage: true } : { include_usage: true } });
}

/** The body with every change the vendor needs; the same object when there is none. */
function changed(input: BuildInput, options: OpenAiChatOptions): JsonObject {
  const given = input.json;
  let json = given;
  if (json["model"] !== input.model) json = { ...json, model: input.model };
  if ((json["stream"] === true) !== input.stream) json = input.stream ? { ...json, stream: true } : unstreamed(json);
  for (const [from, to] of Object.entries(options.rename ?? {})) if (json[from] !== undefined) json = renamed(json, from, to);
  for (const name of options.drop ?? []) if (json[name] !== undefined) json = without(json, name);
  const choice = json["tool_choice"];
  const word = typeof choice === "string" ? options.toolChoice?.[choice] : undefined;
  if (word !== undefined) json = { ...json, tool_choice: word };
  if (options.developerAsSystem === true) json = developerAsSystem(json);
  return options.prepare === undefined ? json : options.prepare(json);
}

/** `stream_options` is refused where nothing is streamed. */
function unstreamed(json: JsonObject): JsonObject {
  return without({ ...json, stream: false }, "stream_options");
}

function without(json: JsonObject, name: string): JsonObject {
  const rest = { ...json };
  delete rest[name];
  return rest;
}

function renamed(json: JsonObject, from: string, to: string): JsonObject {
  const rest = without(json, from);
  if (rest[to] === undefined) rest[to] = json[from];
  return rest;
}

function developerAsSystem(json: JsonObject): JsonObject {
  const messages = json["messages"];
  if (!Array.isArray(messages) || !messages.some(isDeveloper)) return json;
  return { ...json, messages: messages.map((message: unknown) => (isDeveloper(message) ? { ...message, role: "system" } : message)) };
}

function isDeveloper(message: unknown): message is JsonObject {
  return isObject(message) && message["role"] === "developer";
}

function requestHeaders(input: BuildInput, options: OpenAiChatOptions): Record<string, string> {
  const headers: Record<string, string> = { "content-type": "application/json", accept: "application/json" };
  for (const setting in options.settingHeaders) {
    const name = options.settingHeaders[setting] ?? setting;
    const value = input.settings[setting];
    if (typeof value === "string" && value !== "") headers[name] = headerText(value, setting);
  }
  for (const name of options.passHeaders ?? []) {
    const value = input.headers[name];
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}
