import { isObject, type JsonObject } from "@unigate/core";
import type { ChatChunk, ChatChunkChoice, ChatToolCallDelta } from "./types.ts";

interface ChoiceParts {
  readonly index: number;
  finishReason: string | null;
  logprobs: JsonObject | null;
  readonly message: JsonObject;
  readonly toolCalls: JsonObject[];
  readonly blocks: JsonObject[];
}

/** Puts the chunks of a stream together as one `chat.completion`. Fields it does not know are kept: texts joined, lists appended. */
export interface Assembly {
  add(chunk: ChatChunk): void;
  /** What came so far. A choice that was not finished has `finish_reason: null`. */
  result(usage: JsonObject | null): JsonObject;
}

/** An empty assembly. */
export function createAssembly(): Assembly {
  const head: JsonObject = { id: "", object: "chat.completion", created: 0, model: "" };
  const choices = new Map<number, ChoiceParts>();

  function add(chunk: ChatChunk): void {
    const fields = chunk as unknown as JsonObject;
    // for-in: no list of entries a chunk; JSON.parse gives plain objects.
    for (const key in fields) {
      if (key === "object" || key === "choices" || key === "usage" || key === "__proto__") continue;
      const known = head[key];
      if (known === undefined || known === "" || known === 0 || known === null) head[key] = fields[key];
    }
    for (const choice of chunk.choices) addChoice(choices, choice);
  }

  function result(usage: JsonObject | null): JsonObject {
    const ordered = [...choices.values()].sort((a, b) => a.index - b.index);
    const answer: JsonObject = { ...head, choices: ordered.map(finishedChoice) };
    if (usage !== null) answer["usage"] = usage;
    return answer;
  }

  return { add, result };
}

function addChoice(choices: Map<number, ChoiceParts>, choice: ChatChunkChoice): void {
  let parts = choices.get(choice.index);
  if (parts === undefined) {
    const message: JsonObject = { role: "assistant", content: null, refusal: null };
    parts = { index: choice.index, finishReason: null, logprobs: null, message, toolCalls: [], blocks: [] };
    choices.set(choice.index, parts);
  }
  if (typeof choice.finish_reason === "string") parts.finishReason = choice.finish_reason;
  if (isObject(choice.logprobs)) {
    parts.logprobs ??= {};
    mergeInto(parts.logprobs, choice.logprobs);
  }
  const delta = choice.delta as unknown as JsonObject;
  for (const key in delta) {
    const value = delta[key];
    if (key === "tool_calls" && Array.isArray(value)) for (const call of value) addToolCall(parts.toolCalls, call as ChatToolCallDelta);
    else if (key === "content_blocks" && Array.isArray(value)) for (const block of value) addBlock(parts.blocks, block);
    else if (key !== "role" || typeof value !== "string") mergeField(parts.message, key, value);
    else if (value !== "") parts.message["role"] = value;
  }
}

function addToolCall(calls: JsonObject[], piece: ChatToolCallDelta): void {
  let call = calls.find((known) => known["index"] === piece.index);
  if (call === undefined) {
    call = { index: piece.index, id: "", type: "function", function: { name: "", arguments: "" } };
    calls.push(call);
  }
  if (typeof piece.id === "string" && piece.id !== "") call["id"] = piece.id;
  if (typeof piece.type === "string") call["type"] = piece.type;
  const target = call["function"];
  if (!isObject(target) || !isObject(piece.function)) return;
  if (typeof piece.function.name === "string" && piece.function.name !== "") target["name"] = piece.function.name;
  if (typeof piece.function.arguments === "string") target["arguments"] = `${String(target["arguments"])}${piece.function.arguments}`;
  for (const [key, value] of Object.entries(piece)) if (!(key in call)) mergeField(call, key, value);
}

/** A streamed content block `{index, delta: {text | thinking | signature | data}}`. */
function addBlock(blocks: JsonObject[], piece: unknown): void {
  if (!isObject(piece) || !isObject(piece["delta"])) return;
  let block = blocks.find((known) => known["index"] === piece["index"]);
  if (block === undefined) {
    block = { index: piece["index"] };
    blocks.push(block);
  }
  mergeInto(block, piece["delta"]);
}

function finishedChoice(parts: ChoiceParts): JsonObject {
  const message = parts.message;
  // A stream opens with an empty text; where only tools are called a unary answer has none.
  if (parts.toolCalls.length > 0 && message["content"] === "") message["content"] = null;
  if (parts.toolCalls.length > 0) message["tool_calls"] = inOrder(parts.toolCalls).map(withoutIndex);
  if (parts.blocks.length > 0) {
    message["content_blocks"] = inOrder(parts.blocks).map((block) => ({ type: blockType(block), ...withoutIndex(block) }));
  }
  return { index: parts.index, message, logprobs: parts.logprobs, finish_reason: parts.finishReason };
}

function inOrder(items: readonly JsonObject[]): JsonObject[] {
  return [...items].sort((a, b) => Number(a["index"]) - Number(b["index"]));
}

function withoutIndex(item: JsonObject): JsonObject {
  const rest = { ...item };
  delete rest["index"];
  return rest;
}

function blockType(block: JsonObject): string {
  if ("data" in block) return "redacted_thinking";
  return "thinking" in block || "signature" in block ? "thinking" : "text";
}

function mergeInto(target: JsonObject, pieces: JsonObject): void {
  for (const [key, value] of Object.entries(pieces)) mergeField(target, key, value);
}

function mergeField(target: JsonObject, key: string, value: unknown): void {
  if (value === null || value === undefined || key === "__proto__") return;
  const known = target[key];
  if (typeof known === "string" && typeof value === "string") target[key] = known + value;
  else if (Array.isArray(known) && Array.isArray(value)) known.push(...(value as unknown[]));
  else if (isObject(known) && isObject(value)) mergeInto(known, value);
  else if (Array.isArray(value)) target[key] = [...(value as unknown[])];
  else target[key] = isObject(value) ? { ...value } : value;
}
