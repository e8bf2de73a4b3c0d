import type { JsonObject } from "@unigate/core";

// The gateway's own chat shape is OpenAI's. Only what transforms read or write is named; other fields pass.

/** A chunk of a streamed chat completion. */
export interface ChatChunk {
  id: string;
  object: "chat.completion.chunk";
  created: number;
  model: string;
  choices: ChatChunkChoice[];
  usage?: JsonObject | null;
}

export interface ChatChunkChoice {
  index: number;
  delta: ChatDelta;
  finish_reason: string | null;
  logprobs?: unknown;
}

export interface ChatDelta {
  role?: string;
  content?: string | null;
  refusal?: string | null;
  /** Reasoning text, as the OpenAI-shaped vendors spell it. */
  reasoning_content?: string | null;
  tool_calls?: ChatToolCallDelta[];
  content_blocks?: unknown[];
}

export interface ChatToolCallDelta {
  index: number;
  id?: string;
  type?: "function";
  function?: { name?: string; arguments?: string };
}
