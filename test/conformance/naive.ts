import { isObject, type JsonObject } from "@unigate/core";

// A second, deliberately simple reading of recorded answers, sharing nothing with the providers but the wire facts.

/** What an answer says, whatever wire it came over. */
export interface Said {
  text: string;
  reasoning: string;
  refusal: string;
  calls: { choice: number; id: string; name: string; arguments: string }[];
  /** Finish reason in the gateway's words, "" while there is none. */
  finish: string;
  /** Tokens, reasoning included; null when the provider did not say. */
  tokens: { prompt: number; completion: number } | null;
  /** An error inside the answer. */
  failed: boolean;
  /** Calls that were begun before the stream began anew: the client was told their ids already. */
  voided: number;
}

/** Nothing said yet. */
export function silence(): Said {
  return { text: "", reasoning: "", refusal: "", calls: [], finish: "", tokens: null, failed: false, voided: 0 };
}

/** Data of the events of a server-sent event text. */
export function eventsOf(text: string): string[] {
  return text
    .split(/\r?\n\r?\n/)
    .map((block) =>
      block
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).replace(/^ /, ""))
        .join("\n"),
    )
    .filter((data) => data !== "");
}

const FINISH: Readonly<Record<string, string>> = {
  length: "length",
  model_length: "length",
  max_tokens: "length",
  MAX_TOKENS: "length",
  model_context_window_exceeded: "length",
  tool_calls: "tool_calls",
  tool_use: "tool_calls",
  function_call: "function_call",
  content_filter: "content_filter",
  sensitive: "content_filter",
  refusal: "content_filter",
  SAFETY: "content_filter",
  RECITATION: "content_filter",
  PROHIBITED_CONTENT: "content_filter",
  IMAGE_SAFETY: "content_filter",
  BLOCKLIST: "content_filter",
  SPII: "content_filter",
};

function finishOf(reason: string, called: boolean): string {
  const finish = FINISH[reason] ?? "stop";
  return finish === "stop" && called ? "tool_calls" : finish;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function object(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Adds an OpenAI-shaped answer or chunk. Several choices are told apart by the order of their calls only. */
export function addOpenAi(said: Said, json: JsonObject): void {
  if (json["error"] != null) said.failed = true;
  for (const choice of objects(json["choices"])) addOpenAiChoice(said, choice);
  const usage = json["usage"] ?? object(json["x_groq"])["usage"];
  if (isObject(usage) && typeof usage["prompt_tokens"] === "number") said.tokens = openAiTokens(usage);
}

function openAiTokens(usage: JsonObject): { prompt: number; completion: number } {
  const prompt = Number(usage["prompt_tokens"]);
  const completion = Number(usage["completion_tokens"] ?? 0);
  const reasoning = Number(object(usage["completion_tokens_details"])["reasoning_tokens"] ?? 0);
  return { prompt, completion: usage["total_tokens"] === prompt + completion + reasoning ? completion + reasoning : completion };
}

/** Perplexity sends `message` beside `delta`: in a stream the former repeats all that came, in a whole answer the latter is empty. */
function addOpenAiChoice(said: Said, choice: JsonObject): void {
  const delta = object(choice["delta"]);
  const piece = text(delta["content"]) === "" && said.text === "" && isObject(choice["message"]) ? choice["message"] : delta;
  const index = Number(choice["index"] ?? 0);
  if (index === 0) addOpenAiContent(said, piece);
  for (const call of objects(piece["tool_calls"])) addOpenAiCall(said, index, call);
  const reason = text(choice["finish_reason"]);
  const called = said.calls.some((call) => call.choice === index);
  if (reason !== "" && index === 0) said.finish = finishOf(reason, called);
}

function addOpenAiContent(said: Said, piece: JsonObject): void {
  said.text += text(piece["content"]);
  for (const part of objects(piece["content"])) {
    said.text += text(part["text"]);
    for (const thought of objects(part["thinking"])) said.reasoning += text(thought["text"]);
  }
  said.reasoning += text(piece["reasoning_content"]) === "" ? text(piece["reasoning"]) : text(piece["reasoning_content"]);
  said.refusal += text(piece["refusal"]);
}

function addOpenAiCall(said: Said, choice: number, call: JsonObject): void {
  const called = object(call["function"]);
  const id = text(call["id"]) === "null" ? "" : text(call["id"]);
  const name = text(called["name"]);
  const known = said.calls.findLast((other) => other.choice === choice && (id === "" || other.id === id || name === ""));
  const index = typeof call["index"] === "number" && id === "" ? call["index"] : -1;
  const ofChoice = said.calls.filter((other) => other.choice === choice);
  const target = ofChoice[index] ?? known;
  if (target !== undefined) target.arguments += text(called["arguments"]);
  else
    said.calls.push({
      choice,
      id,
      name,
      arguments: isObject(called["arguments"]) ? JSON.stringify(called["arguments"]) : text(called["arguments"]),
    });
}

/** Adds an event of an Anthropic Messages stream, or a whole message. */
export function addAnthropic(said: Said, json: JsonObject): void {
  if (json["type"] === "error") said.failed = true;
  if (json["type"] === "message_start") Object.assign(said, { ...silence(), voided: said.calls.length });
  for (const block of objects(json["content"])) addAnthropicBlock(said, block);
  if (isObject(json["content_block"])) addAnthropicBlock(said, json["content_block"]);
  const delta = object(json["delta"]);
  said.text += json["type"] === "content_block_delta" ? text(delta["text"]) : "";
  const call = said.calls.at(-1);
  if (call !== undefined && delta["type"] === "input_json_delta") call.arguments += text(delta["partial_json"]);
  const reason = text(json["stop_reason"]) || text(delta["stop_reason"]);
  if (reason !== "") said.finish = finishOf(reason, said.calls.length > 0);
}

function addAnthropicBlock(said: Said, block: JsonObject): void {
  if (block["type"] === "text") said.text += text(block["text"]);
  if (block["type"] !== "tool_use") return;
  const given = object(block["input"]);
  const whole = Object.keys(given).length === 0 ? "" : JSON.stringify(given);
  const id = said.calls.length < said.voided ? "" : text(block["id"]);
  said.calls.push({ choice: 0, id, name: text(block["name"]), arguments: whole });
}

/** Adds a Gemini answer or chunk. */
export function addGoogle(said: Said, json: JsonObject): void {
  if (json["error"] != null) said.failed = true;
  const candidate = objects(json["candidates"])[0];
  for (const part of objects(object(candidate?.["content"])["parts"])) {
    if (part["thought"] === true) continue;
    said.text += text(part["text"]);
    const call = object(part["functionCall"]);
    if (text(call["name"]) !== "")
      said.calls.push({ choice: 0, id: "", name: text(call["name"]), arguments: JSON.stringify(call["args"] ?? {}) });
    for (const piece of objects(call["partialArgs"])) addGoogleArgument(said.calls.at(-1), piece);
  }
  if (object(json["promptFeedback"])["blockReason"] !== undefined) said.finish = "content_filter";
  const reason = text(candidate?.["finishReason"]);
  if (reason !== "") said.finish = finishOf(reason, said.calls.length > 0);
}

/** A piece of a streamed argument; only texts at the top level are known here. */
function addGoogleArgument(call: Said["calls"][number] | undefined, piece: JsonObject): void {
  if (call === undefined) return;
  const given = JSON.parse(call.arguments) as JsonObject;
  const name = text(piece["jsonPath"]).replace("$.", "");
  given[name] = text(given[name]) + text(piece["stringValue"]);
  call.arguments = JSON.stringify(given);
}
