import { GatewayError, type JsonObject } from "@unigate/core";
import { type MessagePart, partsOf } from "../chat/message-parts.ts";

type MediaPart = Extract<MessagePart, { kind: "media" }>;

/**
 * The content blocks of a message's `content`. Parts that are none of OpenAI's are Anthropic's own and pass unchanged;
 * empty texts are left out, the API refuses them. `where` names the message in errors: "messages[2]".
 * Throws `invalid_request` on audio and video, which the API does not take.
 */
export function blocksOf(content: unknown, where: string): JsonObject[] {
  const blocks: JsonObject[] = [];
  for (const [index, part] of partsOf(content).entries()) {
    if (part.kind === "other") blocks.push(part.raw);
    else if (part.kind === "media") blocks.push(mediaBlock(part, `${where}.content[${index}]`));
    else if (part.text.trim() !== "") blocks.push(withMarks({ type: "text", text: part.text }, part.raw, TEXT_MARKS));
  }
  return blocks;
}

/** Anthropic's own fields that may stand on a client's part. */
const TEXT_MARKS = ["cache_control", "citations"];
const DOCUMENT_MARKS = ["cache_control", "citations", "title", "context"];

function mediaBlock(part: MediaPart, where: string): JsonObject {
  if (part.family === "audio" || part.family === "video") {
    throw new GatewayError("invalid_request", `anthropic takes no ${part.family} content; send text, images or documents.`, {
      param: where,
    });
  }
  if (part.family === "image") return withMarks({ type: "image", source: imageSource(part) }, part.raw, ["cache_control"]);
  const block: JsonObject = { type: "document", source: documentSource(part) };
  if (part.filename !== "") block["title"] = part.filename;
  return withMarks(block, part.raw, DOCUMENT_MARKS);
}

function imageSource(part: MediaPart): JsonObject {
  const source = part.source;
  if (source.kind === "url") return { type: "url", url: source.url };
  if (source.kind === "id") return { type: "file", file_id: source.id };
  return { type: "base64", media_type: part.mimeType || "image/png", data: source.data };
}

function documentSource(part: MediaPart): JsonObject {
  const source = part.source;
  if (source.kind === "url") return { type: "url", url: source.url };
  if (source.kind === "id") return { type: "file", file_id: source.id };
  if (part.mimeType.startsWith("text/") || part.mimeType === "application/json") {
    return { type: "text", media_type: "text/plain", data: Buffer.from(source.data, "base64").toString("utf8") };
  }
  return { type: "base64", media_type: part.mimeType || "application/pdf", data: source.data };
}

function withMarks(block: JsonObject, raw: JsonObject, marks: readonly string[]): JsonObject {
  for (const mark of marks) if (raw[mark] != null) block[mark] = raw[mark];
  return block;
}
