import { createHash } from "node:crypto";
import { isObject, type JsonObject } from "@unigate/core";
import type { Scenario } from "./scenario.ts";
import { sampleOf } from "./schema-sample.ts";

/** One choice that the mock answers. */
export interface MockChoice {
  /** The answer in pieces, a word each; a stream sends one a chunk. */
  readonly words: readonly string[];
  readonly reasoning: readonly string[];
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finishReason: string;
}

/** A whole answer, before it is written as JSON or as a stream. */
export interface MockAnswer {
  readonly id: string;
  readonly model: string;
  readonly choices: readonly MockChoice[];
  readonly usage: JsonObject;
}

const MAX_CHOICES = 128;
const QUOTED = 400;

/** The answer to a chat body: the same for the same body, streamed or not. */
export function answerOf(json: JsonObject, scenario: Scenario): MockAnswer {
  const asked = JSON.stringify({ ...json, stream: undefined, stream_options: undefined });
  const digest = createHash("sha256").update(asked).digest("hex");
  const choices: MockChoice[] = [];
  const count = typeof json["n"] === "number" ? Math.min(Math.max(1, Math.floor(json["n"])), MAX_CHOICES) : 1;
  for (let index = 0; index < count; index++) choices.push(choiceOf(json, scenario, digest, index));
  return { id: `chatcmpl-${digest.slice(0, 24)}`, model: modelOf(json), choices, usage: usageOf(json, choices) };
}

/** The model a body names; "mock-1" when it names none. */
export function modelOf(json: JsonObject): string {
  return typeof json["model"] === "string" && json["model"] !== "" ? json["model"] : "mock-1";
}

function choiceOf(json: JsonObject, scenario: Scenario, digest: string, index: number): MockChoice {
  const reasoning = thinks(json, scenario) ? wordsOf("I read the question, then I repeat it, because I am the mock provider.") : [];
  const called = calledTools(json);
  if (called.length > 0) {
    const toolCalls = called.map((tool, at) => ({
      id: `call_${digest.slice(0, 16)}_${index}_${at}`,
      name: String(tool["name"]),
      arguments: JSON.stringify(argumentsOf(tool)),
    }));
    return { words: [], reasoning, toolCalls, finishReason: "tool_calls" };
  }
  const { words, cut } = limited(wordsOf(textOf(json, scenario, index)), json);
  return { words, reasoning, toolCalls: [], finishReason: cut ? "length" : "stop" };
}

function argumentsOf(tool: JsonObject): unknown {
  const value = sampleOf(tool["parameters"]);
  return isObject(value) ? value : {};
}

function thinks(json: JsonObject, scenario: Scenario): boolean {
  if (scenario.reasoning) return true;
  const effort = json["reasoning_effort"];
  const thinking = json["thinking"];
  return (typeof effort === "string" && effort !== "none") || (isObject(thinking) && thinking["type"] === "enabled");
}

function textOf(json: JsonObject, scenario: Scenario, index: number): string {
  const said = lastText(json).slice(0, QUOTED);
  const format = json["response_format"];
  if (isObject(format) && format["type"] === "json_schema") {
    const schema = isObject(format["json_schema"]) ? format["json_schema"]["schema"] : undefined;
    return JSON.stringify(sampleOf(schema));
  }
  if (isObject(format) && format["type"] === "json_object") return JSON.stringify({ answer: `You said: ${said}`, choice: index });
  if (scenario.chunks > 0) return Array.from({ length: scenario.chunks }, (_, at) => `word${at + 1}`).join(" ");
  const variant = index === 0 ? "" : ` This is choice ${index + 1}.`;
  return `You said: "${said}". This is the mock provider of the gateway; it answers the same to the same question and uses no network.${variant}`;
}

/** The words of the answer that fit `max_tokens` and end before a stop sequence. */
function limited(words: readonly string[], json: JsonObject): { words: readonly string[]; cut: boolean } {
  const stops = [json["stop"]].flat().filter((stop) => typeof stop === "string" && stop !== "") as string[];
  const text = words.join("");
  const at = Math.min(...stops.map((stop) => text.indexOf(stop)).filter((place) => place >= 0), text.length);
  const kept = at < text.length ? wordsOf(text.slice(0, at)) : words;
  const most = json["max_completion_tokens"] ?? json["max_tokens"];
  if (typeof most !== "number" || most < 1 || kept.length <= most) return { words: kept, cut: false };
  return { words: kept.slice(0, Math.floor(most)), cut: true };
}

/** The functions to call: those that `tool_choice` demands, or that the user's text names. After a tool's answer none. */
function calledTools(json: JsonObject): JsonObject[] {
  const messages = json["messages"];
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (isObject(last) && last["role"] === "tool") return [];
  const functions = functionsOf(json["tools"]);
  const choice = json["tool_choice"];
  if (functions.length === 0 || choice === "none") return [];
  if (isObject(choice) && isObject(choice["function"])) {
    const wanted = choice["function"]["name"];
    return functions.filter((tool) => tool["name"] === wanted).slice(0, 1);
  }
  const text = lastText(json);
  const named = functions.filter((tool) => text.includes(String(tool["name"])));
  if (named.length > 1 && json["parallel_tool_calls"] !== false) return named;
  if (named.length > 0) return named.slice(0, 1);
  return choice === "required" || choice === "any" ? functions.slice(0, 1) : [];
}

function functionsOf(tools: unknown): JsonObject[] {
  if (!Array.isArray(tools)) return [];
  const functions: JsonObject[] = [];
  for (const tool of tools as unknown[]) {
    const named = isObject(tool) ? tool["function"] : undefined;
    if (isObject(named) && typeof named["name"] === "string") functions.push(named);
  }
  return functions;
}

/** Text of the last message that has some. */
function lastText(json: JsonObject): string {
  const messages = json["messages"];
  if (!Array.isArray(messages)) return "";
  for (const message of (messages as unknown[]).toReversed()) {
    const text = isObject(message) ? contentText(message["content"]) : "";
    if (text !== "") return text;
  }
  return "";
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as unknown[])
    .map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : ""))
    .filter((text) => text !== "")
    .join("\n");
}

/** A text as words, the space after each kept; joined they are the text again. */
function wordsOf(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

/** Tokens are words here: three a message more in the prompt. */
function usageOf(json: JsonObject, choices: readonly MockChoice[]): JsonObject {
  let prompt = 0;
  for (const message of Array.isArray(json["messages"]) ? (json["messages"] as unknown[]) : []) {
    prompt += 3 + (isObject(message) ? wordsOf(contentText(message["content"])).length : 0);
  }
  let reasoning = 0;
  let text = 0;
  for (const choice of choices) {
    reasoning += choice.reasoning.length;
    text += choice.words.length;
    for (const call of choice.toolCalls) text += 1 + wordsOf(call.arguments).length;
  }
  return {
    prompt_tokens: prompt,
    completion_tokens: text + reasoning,
    total_tokens: prompt + text + reasoning,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}
