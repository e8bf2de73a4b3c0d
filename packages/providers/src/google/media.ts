import type { JsonObject } from "@unigate/core";
import type { MessagePart } from "../chat/message-parts.ts";

type MediaPart = Extract<MessagePart, { kind: "media" }>;

/** Where the Gemini API keeps uploaded files; `files/abc` is short for one of them. */
const FILES = "https://generativelanguage.googleapis.com/v1beta/";

/** What a medium of unknown type most likely is. */
const USUAL_TYPE = { image: "image/jpeg", audio: "audio/mpeg", video: "video/mp4", file: "application/pdf" } as const;

/** A medium as a Gemini part: bytes inline, an address as a file URI (the service fetches https, gs and its own files). */
export function mediaPart(part: MediaPart): JsonObject {
  const source = part.source;
  if (source.kind === "base64") return { inlineData: { mimeType: part.mimeType || USUAL_TYPE[part.family], data: source.data } };
  if (source.kind === "id") return fileData(source.id.startsWith("files/") ? FILES + source.id : source.id, part.mimeType);
  // The service knows the type of its own files better.
  const known = source.url.startsWith(FILES) ? "" : USUAL_TYPE[part.family];
  return fileData(source.url, part.mimeType || known);
}

function fileData(fileUri: string, mimeType: string): JsonObject {
  return { fileData: mimeType === "" ? { fileUri } : { mimeType, fileUri } };
}
