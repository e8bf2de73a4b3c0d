import type { JsonObject } from "@unigate/core";
import type { Piece } from "./upstream-reply.ts";
import { jsonReply, type Reply, sseReply } from "./upstream-reply.ts";

const CREATED = 1_700_000_000;

/** Token counts of the answers below. */
export const CHAT_USAGE: JsonObject = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };

/** A chat completion as OpenAI sends it. */
export function chatCompletion(text: string, over: JsonObject = {}): JsonObject {
  return {
    id: "chatcmpl-upstream",
    object: "chat.completion",
    created: CREATED,
    model: "gpt-test",
    choices: [{ index: 0, message: { role: "assistant", content: text, refusal: null }, logprobs: null, finish_reason: "stop" }],
    usage: CHAT_USAGE,
    ...over,
  };
}

/** One chunk of a streamed chat completion. */
export function chatChunk(delta: JsonObject, finishReason: string | null = null, over: JsonObject = {}): JsonObject {
  return {
    id: "chatcmpl-upstream",
    object: "chat.completion.chunk",
    created: CREATED,
    model: "gpt-test",
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    ...over,
  };
}

/** The last chunk when `include_usage` was asked for. */
export function usageChunk(): JsonObject {
  return { ...chatChunk({}), choices: [], usage: CHAT_USAGE };
}

/** The end of every OpenAI stream. */
export const DONE = "data: [DONE]\n\n";

/** A chat completion in one body. */
export function chatReply(text: string, over: Partial<Reply> = {}): Reply {
  return jsonReply(chatCompletion(text), over);
}

/** A chat completion as a stream of these texts, with usage at its end. Numbers and promises between texts are waited for. */
export function chatStreamReply(texts: readonly Piece[], over: Partial<Reply> = {}): Reply {
  const content = texts.map((text) => (typeof text === "string" ? chatChunk({ content: text }) : text));
  return sseReply([chatChunk({ role: "assistant", content: "" }), ...content, chatChunk({}, "stop"), usageChunk(), DONE], over);
}
