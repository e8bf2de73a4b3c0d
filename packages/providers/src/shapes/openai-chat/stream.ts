import { boundedJson, isObject, type JsonObject } from "@unigate/core";
import { completionId } from "../../chat/completion-id.ts";
import { createChatStream } from "../../chat/stream-writer.ts";
import type { ChatChunk } from "../../chat/types.ts";
import { usageOfOpenAi } from "../../chat/usage.ts";
import type { StreamInput, StreamReader } from "../../define.ts";
import { clientUsage, isUsage } from "./client-usage.ts";
import { flattenParts } from "./content-parts.ts";
import { inbandError, unreadableEvent } from "./errors.ts";
import { finishReason } from "./finish.ts";
import type { OpenAiChatOptions } from "./options.ts";
import { createToolIndexes, type ToolIndexes } from "./tool-calls.ts";

/** Reads a stream of `chat.completion.chunk` events: each is parsed once and passed on as it came, unless it must change. */
export function createOpenAiReader(provider: string, input: StreamInput, options: OpenAiChatOptions): StreamReader {
  const stream = createChatStream(input);
  const state = stream.state;
  let tools: ToolIndexes | null = null;
  let empty = true;

  function event(name: string, data: string): void {
    if (state.done || state.failure !== null || data === "") return;
    if (data.startsWith("[DONE]")) {
      if (empty) stream.fail(unreadableEvent(provider, data));
      else stream.done();
      return;
    }
    try {
      read(name, data);
    } catch {
      stream.fail(unreadableEvent(provider, data));
    }
  }

  function read(name: string, data: string): void {
    const json = boundedJson(data);
    if (!isObject(json)) {
      stream.fail(inbandError(provider, json) ?? unreadableEvent(provider, data));
      return;
    }
    const choices = json["choices"];
    if (json["error"] != null || name === "error" || !Array.isArray(choices)) {
      const error = inbandError(provider, json);
      if (error !== null || name === "error") {
        stream.fail(error ?? unreadableEvent(provider, data));
        return;
      }
    }
    if (Array.isArray(choices)) pass(json, choices, data);
    else pass(json, [], undefined);
  }

  function pass(json: JsonObject, choices: unknown[], data: string | undefined): void {
    empty = false;
    let changed = data === undefined;
    if (changed) json["choices"] = choices;
    for (let at = 0; at < choices.length; at++) if (repairChoice(choices[at], json["id"])) changed = true;
    if (json["id"] == null || json["created"] == null) {
      json["id"] ??= completionId(provider, input);
      json["created"] ??= input.created;
      changed = true;
    }
    const object = json["object"];
    if (object !== "chat.completion.chunk" && object !== "") {
      json["object"] = "chat.completion.chunk";
      changed = true;
    }
    if (json["usage"] != null) {
      takeUsage(json, choices.length === 0, changed ? undefined : data);
      if (choices.length === 0) return;
      changed = true;
    } else if (state.usage === null && json["x_groq"] !== undefined) takeGroqUsage(json["x_groq"]);
    stream.chunk(json as unknown as ChatChunk, changed ? undefined : data);
  }

  /** The client sees usage once, at the end, and only when it asked: so it is taken out of every chunk. */
  function takeUsage(json: JsonObject, alone: boolean, data: string | undefined): void {
    const reported = json["usage"];
    if (isUsage(reported)) {
      const usage = usageOfOpenAi(reported);
      const object = clientUsage(reported, usage);
      if (!alone) stream.usage(usage, object);
      else if (object === reported && data !== undefined) stream.usage(usage, object, data);
      else stream.usage(usage, object, JSON.stringify({ ...json, usage: object }));
    }
    if (!alone) json["usage"] = input.clientUsage ? null : undefined;
  }

  function takeGroqUsage(extra: unknown): void {
    const reported = isObject(extra) ? extra["usage"] : undefined;
    if (!isUsage(reported)) return;
    const usage = usageOfOpenAi(reported);
    stream.usage(usage, clientUsage(reported, usage));
  }

  /** Changes a chunk's choice in place where it is not as OpenAI's clients expect it. Returns whether it did. */
  function repairChoice(choice: unknown, id: unknown): boolean {
    if (!isObject(choice)) throw new TypeError("a choice is no object");
    let changed = false;
    if (typeof choice["index"] !== "number") {
      choice["index"] = 0;
      changed = true;
    }
    const reported = choice["finish_reason"];
    const reason = finishReason(reported, options.finish);
    if (reason !== reported && (reason !== null || reported !== undefined)) {
      choice["finish_reason"] = reason;
      changed = true;
    }
    let delta = choice["delta"];
    if (!isObject(delta)) {
      delta = {};
      choice["delta"] = delta;
      changed = true;
    }
    return repairDelta(delta as JsonObject, choice["index"] as number, id) || changed;
  }

  function repairDelta(delta: JsonObject, choice: number, id: unknown): boolean {
    let changed = false;
    const content = delta["content"];
    if (Array.isArray(content)) {
      const flat = flattenParts(content);
      delta["content"] = flat.text;
      if (flat.reasoning !== "") delta["reasoning_content"] = flat.reasoning;
      changed = true;
    }
    const calls = delta["tool_calls"];
    if (calls == null) return changed;
    if (!Array.isArray(calls)) throw new TypeError("tool_calls is no list");
    tools ??= createToolIndexes();
    for (const call of calls as unknown[]) {
      if (!isObject(call)) throw new TypeError("a tool call is no object");
      if (tools.repair(choice, call, typeof id === "string" ? id : "")) changed = true;
    }
    return changed;
  }

  function end(): void {
    if (state.finishReason === "") return;
    // With finish reason and usage nothing is missing but `[DONE]` itself, which not every server sends.
    if (options.terminal === "finish" || state.usage !== null) stream.done();
  }

  return { state, event, end, assembled: () => stream.assembled() };
}
