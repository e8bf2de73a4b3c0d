import { isObject, type JsonObject } from "@unigate/core";

/**
 * The text of a request that checks see: of the last message (parts joined by newlines), the prompt or the input
 * (behaviour 7.2). The surface says which of them its provider reads; a foreign field cannot stand in for it.
 */
export function requestText(surface: string, body: JsonObject): string {
  switch (surface) {
    case "chat":
    case "messages":
      return lastMessageText(body["messages"]);
    case "completions":
      return stringsText(body["prompt"]);
    case "embeddings":
    case "responses":
      return inputText(body["input"]);
    default:
      if (Array.isArray(body["messages"])) return lastMessageText(body["messages"]);
      return body["prompt"] === undefined ? inputText(body["input"]) : stringsText(body["prompt"]);
  }
}

/** The text of an answer: the first choice, Anthropic's content blocks, or the output of Responses. */
export function replyText(reply: JsonObject): string {
  const { choices, content, output } = reply;
  if (Array.isArray(choices)) {
    const first: unknown = choices[0];
    if (!isObject(first)) return "";
    return isObject(first["message"]) ? contentText(first["message"]["content"]) : contentText(first["text"]);
  }
  if (content !== undefined) return contentText(content);
  if (!Array.isArray(output)) return "";
  return output.flatMap((item) => (isObject(item) && item["type"] === "message" ? [contentText(item["content"])] : [])).join("\n");
}

function lastMessageText(messages: unknown): string {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  return isObject(last) ? contentText(last["content"]) : "";
}

/** A string, strings, or the items of Responses, of which the last one is the message. */
function inputText(input: unknown): string {
  const last: unknown = Array.isArray(input) ? input.at(-1) : undefined;
  return isObject(last) ? contentText(last["content"]) : stringsText(input);
}

function stringsText(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter((item) => typeof item === "string").join("\n") : "";
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap(partText).join("\n");
}

function partText(part: unknown): string[] {
  if (typeof part === "string") return [part];
  return isObject(part) && typeof part["text"] === "string" ? [part["text"]] : [];
}
