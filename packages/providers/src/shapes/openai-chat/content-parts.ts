import { isObject } from "@unigate/core";

/** Text and thinking of an answer's content. */
export interface FlatContent {
  readonly text: string;
  readonly reasoning: string;
}

/** An answer's content that came as parts (`{type: "text"}`, `{type: "thinking", thinking: [...]}`), as two texts. */
export function flattenParts(parts: readonly unknown[]): FlatContent {
  let text = "";
  let reasoning = "";
  for (const part of parts) {
    if (!isObject(part)) continue;
    if (part["type"] === "thinking") reasoning += thinkingText(part["thinking"]);
    else if (typeof part["text"] === "string") text += part["text"];
  }
  return { text, reasoning };
}

function thinkingText(thinking: unknown): string {
  if (typeof thinking === "string") return thinking;
  if (!Array.isArray(thinking)) return "";
  let text = "";
  for (const part of thinking as unknown[]) if (isObject(part) && typeof part["text"] === "string") text += part["text"];
  return text;
}
