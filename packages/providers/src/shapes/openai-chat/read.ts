import { boundedJsonOf, bufferOfJson, GatewayError, isObject, type JsonObject } from "@unigate/core";
import { completionId } from "../../chat/completion-id.ts";
import { usageOfOpenAi } from "../../chat/usage.ts";
import type { BuildInput, SurfaceReply } from "../../define.ts";
import { clientUsage, isUsage } from "./client-usage.ts";
import { flattenParts } from "./content-parts.ts";
import { inbandError } from "./errors.ts";
import { finishReason } from "./finish.ts";
import type { OpenAiChatOptions } from "./options.ts";
import { completeToolCalls } from "./tool-calls.ts";

/**
 * A unary answer. Throws GatewayError `upstream_invalid` when it is none: with the provider's words and status when it
 * is an error that came with a good status.
 */
export function readAnswer(provider: string, body: Buffer, input: BuildInput, options: OpenAiChatOptions): SurfaceReply {
  const json = parse(provider, body);
  const choices = json["choices"];
  if (!Array.isArray(choices)) throw notAnAnswer(provider, json);
  let answer = json;
  const id = typeof json["id"] === "string" ? json["id"] : completionId(provider, input);
  if (id !== json["id"]) answer = { ...answer, id };
  if (typeof json["created"] !== "number") answer = { ...answer, created: input.created };

  const repaired = choices.map((choice: unknown) => repairedChoice(choice, id, options));
  if (repaired.some((choice, at) => choice !== choices[at])) answer = { ...answer, choices: repaired };

  const reported = json["usage"];
  const usage = isUsage(reported) ? usageOfOpenAi(reported) : null;
  if (usage !== null && isUsage(reported)) {
    const object = clientUsage(reported, usage);
    if (object !== reported) answer = { ...answer, usage: object };
  }
  if (json["object"] !== "chat.completion") answer = { ...answer, object: "chat.completion" };

  const first: unknown = repaired[0];
  const reason = isObject(first) ? first["finish_reason"] : null;
  return {
    body: answer === json ? body : bufferOfJson(answer),
    usage,
    model: typeof json["model"] === "string" && json["model"] !== "" ? json["model"] : input.model,
    finishReason: typeof reason === "string" ? reason : "",
  };
}

function parse(provider: string, body: Buffer): JsonObject {
  let json: unknown;
  try {
    json = boundedJsonOf(body);
  } catch (cause) {
    throw new GatewayError("upstream_invalid", `The answer of ${provider} is not JSON, or nested too deeply.`, { cause });
  }
  if (!isObject(json)) throw new GatewayError("upstream_invalid", `The answer of ${provider} is not a JSON object.`);
  return json;
}

function notAnAnswer(provider: string, json: JsonObject): GatewayError {
  const error = inbandError(provider, json);
  if (error === null) return new GatewayError("upstream_invalid", `The answer of ${provider} has no "choices".`);
  return new GatewayError("upstream_invalid", `${provider} error: ${error.message}`, { status: error.status, type: error.type });
}

function repairedChoice(choice: unknown, id: string, options: OpenAiChatOptions): unknown {
  if (!isObject(choice)) return choice;
  const message = isObject(choice["message"]) ? repairedMessage(choice["message"], id, choice["index"]) : choice["message"];
  const calls = isObject(message) ? message["tool_calls"] : undefined;
  let reason = finishReason(choice["finish_reason"], options.finish);
  if (reason === "stop" && Array.isArray(calls) && calls.length > 0) reason = "tool_calls";
  if (message === choice["message"] && reason === choice["finish_reason"]) return choice;
  return { ...choice, message, finish_reason: reason };
}

function repairedMessage(message: JsonObject, id: string, index: unknown): JsonObject {
  let repaired = message;
  const content = message["content"];
  if (Array.isArray(content)) {
    const flat = flattenParts(content);
    repaired = { ...repaired, content: flat.text };
    if (flat.reasoning !== "") repaired["reasoning_content"] = flat.reasoning;
  }
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return repaired;
  const complete = completeToolCalls(calls, id, typeof index === "number" ? index : 0);
  return complete === calls ? repaired : { ...repaired, tool_calls: complete };
}
