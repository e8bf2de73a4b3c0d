import { isObject, type JsonObject } from "@unigate/core";

/** Characters of content in one replayed chunk (behaviour section 6). */
const PIECE = 500;

/**
 * A stored unary chat completion as the stream a client asked for: content in pieces, tool calls as deltas, the finish
 * reason, usage when wanted, `[DONE]`.
 */
export function replayChat(completion: JsonObject, withUsage: boolean): string {
  const { choices, usage, ...rest } = completion;
  const base = { ...rest, object: "chat.completion.chunk" };
  let text = "";
  const write = (delta: JsonObject, index: unknown, finishReason: unknown): void => {
    text += `data: ${JSON.stringify({ ...base, choices: [{ index, delta, finish_reason: finishReason }] })}\n\n`;
  };
  for (const choice of Array.isArray(choices) ? choices : []) {
    if (!isObject(choice)) continue;
    const message = isObject(choice["message"]) ? choice["message"] : {};
    const { role, content, tool_calls, ...other } = message;
    write({ role: role ?? "assistant", ...other }, choice["index"], null);
    for (const piece of piecesOf(content)) write({ content: piece }, choice["index"], null);
    if (Array.isArray(tool_calls)) {
      write({ tool_calls: tool_calls.map((call: unknown, index) => ({ index, ...(isObject(call) ? call : {}) })) }, choice["index"], null);
    }
    write({}, choice["index"], choice["finish_reason"] ?? "stop");
  }
  if (withUsage) text += `data: ${JSON.stringify({ ...base, choices: [], usage: usage ?? null })}\n\n`;
  return `${text}data: [DONE]\n\n`;
}

function piecesOf(content: unknown): string[] {
  if (typeof content !== "string") return [];
  const pieces: string[] = [];
  const characters = Array.from(content);
  for (let at = 0; at < characters.length; at += PIECE) pieces.push(characters.slice(at, at + PIECE).join(""));
  return pieces;
}
