import { boundedJsonOf, bufferOfJson, GatewayError, isObject, type JsonObject } from "@unigate/core";
import { listOf, objectOf, stringOf } from "../chat/json-value.ts";
import { openAiUsage } from "../chat/usage.ts";
import type { BuildInput, SurfaceReply } from "../define.ts";
import { inbandError } from "./errors.ts";
import { finishReasonOf } from "./finish-reason.ts";
import { usageOf } from "./usage.ts";

/**
 * A Messages answer as a chat completion. Outside strict mode `content_blocks`
 * holds every block but the tool calls, as it came, to be sent back in tool loops. Throws `upstream_invalid` when the
 * body is no Messages answer; with the status that an error stands for when it is one that came with a good status.
 */
export function readMessages(body: Buffer, input: BuildInput, provider: string): SurfaceReply {
  const answer = parsed(body, provider);
  const message = messageOf(answer, input.strict);
  const called = message["tool_calls"] !== undefined;
  const reason = finishReasonOf(answer["stop_reason"]);
  const finishReason = called && reason === "stop" ? "tool_calls" : reason;
  const usage = usageOf(objectOf(answer["usage"]));
  const model = stringOf(answer["model"]) || input.model;
  const completion: JsonObject = {
    id: stringOf(answer["id"]),
    object: "chat.completion",
    created: input.created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }],
    usage: openAiUsage(usage, input.strict),
  };
  return { body: bufferOfJson(completion), usage, model, finishReason };
}

function parsed(body: Buffer, provider: string): JsonObject {
  let answer: unknown;
  try {
    answer = boundedJsonOf(body);
  } catch (cause) {
    throw new GatewayError("upstream_invalid", `The answer of ${provider} is not JSON, or nested too deeply.`, { cause });
  }
  if (isObject(answer) && Array.isArray(answer["content"])) return answer;
  if (!isObject(answer) || !isObject(answer["error"])) {
    throw new GatewayError("upstream_invalid", `The answer of ${provider} has no "content" list.`);
  }
  const error = inbandError(answer, provider);
  throw new GatewayError("upstream_invalid", error.message, { status: error.status, type: error.type });
}

function messageOf(answer: JsonObject, strict: boolean): JsonObject {
  let text = "";
  const calls: JsonObject[] = [];
  const blocks: JsonObject[] = [];
  for (const block of listOf(answer["content"])) {
    if (!isObject(block)) continue;
    if (block["type"] === "tool_use") {
      calls.push(toolCall(block));
      continue;
    }
    if (block["type"] === "text") text += stringOf(block["text"]);
    blocks.push(block);
  }
  const refusal = refusalOf(answer);
  const message: JsonObject = { role: "assistant", content: text === "" && calls.length > 0 ? null : text, refusal };
  if (calls.length > 0) message["tool_calls"] = calls;
  if (!strict && blocks.length > 0) message["content_blocks"] = blocks;
  return message;
}

function toolCall(block: JsonObject): JsonObject {
  const input = block["input"];
  return {
    id: stringOf(block["id"]),
    type: "function",
    function: { name: stringOf(block["name"]), arguments: isObject(input) ? JSON.stringify(input) : "{}" },
  };
}

/** Why the model refused, where it says so. */
export function refusalOf(answer: JsonObject): string | null {
  if (answer["stop_reason"] !== "refusal") return null;
  return stringOf(objectOf(answer["stop_details"])["explanation"]) || null;
}
