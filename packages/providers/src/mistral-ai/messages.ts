import { createHash } from "node:crypto";
import { isObject, type JsonObject } from "@unigate/core";

/**
 * Messages as Mistral takes them: tool call ids of nine letters or digits (others, from another provider's history,
 * become such, the same for the same id), and reasoning text as a thinking part. The same object when all are so already.
 */
export function mistralMessages(json: JsonObject): JsonObject {
  const messages = json["messages"];
  if (!Array.isArray(messages)) return json;
  const adapted = messages.map(adaptedMessage);
  return adapted.some((message, at) => message !== messages[at]) ? { ...json, messages: adapted } : json;
}

function adaptedMessage(message: unknown): unknown {
  if (!isObject(message)) return message;
  let adapted = message;
  const answered = message["tool_call_id"];
  if (typeof answered === "string" && !isMistralId(answered)) adapted = { ...adapted, tool_call_id: mistralId(answered) };
  const calls = message["tool_calls"];
  if (Array.isArray(calls) && calls.some(hasForeignId)) adapted = { ...adapted, tool_calls: calls.map(adaptedCall) };
  return message["role"] === "assistant" && "reasoning_content" in message ? withThinkingPart(adapted) : adapted;
}

function hasForeignId(call: unknown): call is JsonObject & { id: string } {
  return isObject(call) && typeof call["id"] === "string" && !isMistralId(call["id"]);
}

function adaptedCall(call: unknown): unknown {
  return hasForeignId(call) ? { ...call, id: mistralId(call.id) } : call;
}

function isMistralId(id: string): boolean {
  return /^[a-zA-Z0-9]{9}$/.test(id);
}

function mistralId(id: string): string {
  return createHash("sha256").update(id).digest("hex").slice(0, 9);
}

/** `reasoning_content` is refused; what the model itself wrote goes back as the part it came as. */
function withThinkingPart(message: JsonObject): JsonObject {
  const { reasoning_content: reasoning, content, ...rest } = message;
  if (typeof reasoning !== "string" || reasoning === "") return content === undefined ? rest : { ...rest, content };
  const thinking = { type: "thinking", thinking: [{ type: "text", text: reasoning }] };
  if (Array.isArray(content)) return { ...rest, content: [thinking, ...(content as unknown[])] };
  return { ...rest, content: typeof content === "string" && content !== "" ? [thinking, { type: "text", text: content }] : [thinking] };
}
