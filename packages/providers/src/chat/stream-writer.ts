import { isObject, type JsonObject, type Usage } from "@unigate/core";
import type { ProviderError, StreamInput, StreamState } from "../define.ts";
import { createAssembly } from "./assembly.ts";
import type { ChatChunk, ChatChunkChoice, ChatDelta } from "./types.ts";
import { openAiUsage } from "./usage.ts";

/**
 * Writes a chat stream in the client's dialect into `state`. Every chat stream reader uses one; after `fail` or `done`
 * nothing more is written.
 */
export interface ChatStream {
  readonly state: StreamState;
  /**
   * One chunk that the client is to see. `raw` is its JSON text when that is known already (an OpenAI-shaped upstream),
   * and is ignored when the writer had to change the chunk. A finish reason "stop" becomes "tool_calls" when the choice called tools.
   */
  chunk(chunk: ChatChunk, raw?: string): void;
  /**
   * The usage so far; the last one given counts. `object` is the `usage` object for the client (OpenAI's fields of
   * `usage` when absent), `raw` the JSON text of a whole usage-only chunk (`choices: []`) to be passed on as it is.
   */
  usage(usage: Usage, object?: JsonObject, raw?: string): void;
  /** An error inside the stream. The first one stays. */
  fail(error: ProviderError): void;
  /** The answer is complete: writes the usage chunk when the client asked for one, then `[DONE]`. Once. */
  done(): void;
  /** The unary answer so far; needs `wantAssembled`. */
  assembled(): JsonObject;
}

/** A writer for one response. */
export function createChatStream(input: StreamInput): ChatStream {
  const state: StreamState = {
    text: "",
    deltas: [],
    content: false,
    done: false,
    failure: null,
    usage: null,
    finishReason: "",
    model: input.model,
  };
  const assembly = input.wantAssembled ? createAssembly() : null;
  /** Indexes of the choices that called tools. */
  const callers: number[] = [];
  let last: ChatChunk | null = null;
  let usageObject: JsonObject | null = null;
  let usageRaw = "";

  function chunk(chunk: ChatChunk, raw?: string): void {
    if (state.done || state.failure !== null) return;
    last = chunk;
    if (typeof chunk.model === "string" && chunk.model !== "") state.model = chunk.model;
    let text = raw;
    for (const choice of chunk.choices) {
      if (choice.delta.tool_calls != null && choice.delta.tool_calls.length > 0 && !callers.includes(choice.index))
        callers.push(choice.index);
      if (typeof choice.finish_reason === "string") {
        if (choice.finish_reason === "stop" && callers.includes(choice.index)) {
          choice.finish_reason = "tool_calls";
          text = undefined;
        }
        if (choice.index === 0 || state.finishReason === "") state.finishReason = choice.finish_reason;
      }
      if (!state.content && holdsContent(choice)) state.content = true;
      if (input.wantDeltas) collectDeltas(state, choice);
    }
    assembly?.add(chunk);
    // A line break inside the JSON text would end the event's data line.
    state.text += `data: ${text === undefined || text.includes("\n") ? JSON.stringify(chunk) : text}\n\n`;
  }

  function usage(usage: Usage, object?: JsonObject, raw?: string): void {
    if (state.done || state.failure !== null) return;
    state.usage = usage;
    usageObject = object ?? null;
    usageRaw = raw === undefined || raw.includes("\n") ? "" : raw;
  }

  function clientUsageObject(): JsonObject | null {
    return usageObject ?? (state.usage === null ? null : openAiUsage(state.usage, input.strict));
  }

  function fail(error: ProviderError): void {
    if (!state.done) state.failure ??= error;
  }

  function done(): void {
    if (state.done || state.failure !== null) return;
    state.done = true;
    if (input.clientUsage && state.usage !== null) {
      state.text += `data: ${usageRaw === "" ? JSON.stringify(usageChunk(last, input, clientUsageObject())) : usageRaw}\n\n`;
    }
    state.text += "data: [DONE]\n\n";
  }

  return {
    state,
    chunk,
    usage,
    fail,
    done,
    assembled: () => assembly?.result(clientUsageObject()) ?? {},
  };
}

function usageChunk(last: ChatChunk | null, input: StreamInput, usage: JsonObject | null): ChatChunk {
  const { id, created, model } = last ?? { id: "", created: input.created, model: input.model };
  return { id, object: "chat.completion.chunk", created, model, choices: [], usage };
}

/** Fields of a delta beyond the typed ones: some vendors spell reasoning text `reasoning`; the last two are OpenAI's own. */
type AnyDelta = ChatDelta & { readonly reasoning?: unknown; readonly audio?: unknown; readonly function_call?: unknown };

function holdsContent(choice: ChatChunkChoice): boolean {
  const delta: AnyDelta = choice.delta;
  return (
    isText(delta.content) ||
    (delta.tool_calls != null && delta.tool_calls.length > 0) ||
    isText(delta.refusal) ||
    reasoningOf(delta) !== "" ||
    (delta.content_blocks != null && delta.content_blocks.length > 0) ||
    delta.audio != null ||
    delta.function_call != null
  );
}

function collectDeltas(state: StreamState, choice: ChatChunkChoice): void {
  const delta = choice.delta;
  const reasoning = reasoningOf(delta);
  if (reasoning !== "") state.deltas.push({ choice: choice.index, channel: "reasoning", text: reasoning });
  if (isText(delta.content)) state.deltas.push({ choice: choice.index, channel: "text", text: delta.content });
  if (isText(delta.refusal)) state.deltas.push({ choice: choice.index, channel: "text", text: delta.refusal });
  if (delta.tool_calls == null) return;
  for (const call of delta.tool_calls) {
    const text = call.function?.arguments;
    if (isText(text)) state.deltas.push({ choice: choice.index, channel: `tool:${call.index}`, text });
  }
}

/** Reasoning text of a delta in any spelling; "" when there is none. */
function reasoningOf(delta: AnyDelta): string {
  if (isText(delta.reasoning_content)) return delta.reasoning_content;
  if (isText(delta.reasoning)) return delta.reasoning;
  if (delta.content_blocks == null) return "";
  let text = "";
  for (const block of delta.content_blocks) {
    const part = isObject(block) && isObject(block["delta"]) ? block["delta"]["thinking"] : undefined;
    if (isText(part)) text += part;
  }
  return text;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
