import { isObject, type JsonObject } from "@unigate/core";
import { listOf, objectOf, stringOf } from "../chat/json-value.ts";
import { blocksOf } from "./content.ts";
import { resultBlock, toolUseBlocks } from "./tool-blocks.ts";

/** One turn as the Messages API takes it. */
export interface Turn {
  readonly role: "user" | "assistant";
  content: JsonObject[];
}

export interface Conversation {
  /** Text blocks of all system and developer messages, in order, wherever they stood. */
  readonly system: JsonObject[];
  /** Begins with the user; the roles alternate. */
  readonly turns: Turn[];
}

/** What the user says where the API demands a user turn and the client sent none. */
const PLACEHOLDER = "Continue.";

/**
 * OpenAI messages as a system prompt and alternating turns: neighbours of one role become one turn, with tool results
 * first. A message without any content is left out.
 */
export function conversationOf(messages: unknown): Conversation {
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  for (const [index, item] of listOf(messages).entries()) {
    if (!isObject(item)) continue;
    const where = `messages[${index}]`;
    switch (item["role"]) {
      case "system":
      case "developer":
        system.push(...marked(blocksOf(item["content"], where), item));
        break;
      case "assistant":
        append(turns, "assistant", marked(assistantBlocks(item, where), item));
        break;
      case "tool":
      case "function":
        append(turns, "user", [resultBlock(item, where)]);
        break;
      default:
        append(turns, "user", marked(blocksOf(item["content"], where), item));
    }
  }
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", content: [{ type: "text", text: PLACEHOLDER }] });
  for (const turn of turns) if (turn.role === "user") turn.content = resultsFirst(turn.content);
  trimPrefill(turns);
  return { system, turns };
}

function append(turns: Turn[], role: Turn["role"], blocks: JsonObject[]): void {
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else turns.push({ role, content: blocks });
}

/** `cache_control` of a whole message goes on its last block. */
function marked(blocks: JsonObject[], message: JsonObject): JsonObject[] {
  const last = blocks.at(-1);
  if (message["cache_control"] == null || last === undefined) return blocks;
  return [...blocks.slice(0, -1), { ...last, cache_control: message["cache_control"] }];
}

/**
 * The client's `content_blocks` go back as they came, signatures included; where they hold no text, and where there
 * are none, `content` gives it. Tool calls follow.
 */
function assistantBlocks(message: JsonObject, where: string): JsonObject[] {
  const kept: JsonObject[] = [];
  for (const block of listOf(message["content_blocks"])) if (isObject(block) && isReturnable(block)) kept.push(block);
  const spoken = kept.some((block) => block["type"] === "text") ? [] : blocksOf(message["content"], where);
  const known = new Set(kept.map((block) => block["id"]));
  return [...kept, ...spoken, ...toolUseBlocks(message).filter((block) => !known.has(block["id"]))];
}

/** Whether a block that once came with an answer may be sent. A thought without its signature, another provider's, would be refused. */
function isReturnable(block: JsonObject): boolean {
  switch (block["type"]) {
    case "text":
      return stringOf(block["text"]).trim() !== "";
    case "thinking":
      return stringOf(block["signature"]) !== "";
    case "redacted_thinking":
      return stringOf(block["data"]) !== "";
    case "image_url":
      return false;
    default:
      return typeof block["type"] === "string";
  }
}

function resultsFirst(blocks: JsonObject[]): JsonObject[] {
  const results = blocks.filter((block) => block["type"] === "tool_result");
  if (results.length === 0) return blocks;
  return [...results, ...blocks.filter((block) => block["type"] !== "tool_result")];
}

/** A last turn of the assistant is the beginning of its answer; the API refuses one that ends in white space. */
function trimPrefill(turns: Turn[]): void {
  const turn = turns.at(-1);
  const block = turn?.role === "assistant" ? turn.content.at(-1) : undefined;
  if (turn === undefined || block?.["type"] !== "text") return;
  turn.content = [...turn.content.slice(0, -1), { ...block, text: stringOf(block["text"]).trimEnd() }];
}

/** Names of the tools that a conversation already used. */
export function usedTools(turns: readonly Turn[]): string[] {
  const names = new Set<string>();
  for (const turn of turns) {
    for (const block of turn.content) if (block["type"] === "tool_use") names.add(stringOf(objectOf(block)["name"]));
  }
  return [...names];
}
