import { isObject, type JsonObject } from "@unigate/core";
import { stringOf } from "./json-value.ts";

/** What a medium is, told by its part and its MIME type. */
type MediaFamily = "image" | "audio" | "video" | "file";

/** Where the bytes of a medium are. `id`: a file that was uploaded to the provider. */
type MediaSource =
  | { readonly kind: "base64"; readonly data: string }
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "id"; readonly id: string };

/** One content part of a client's message. `raw` is the part as it came. */
export type MessagePart =
  | { readonly kind: "text"; readonly text: string; readonly raw: JsonObject }
  | {
      readonly kind: "media";
      readonly family: MediaFamily;
      /** "" when nothing tells it. */
      readonly mimeType: string;
      readonly source: MediaSource;
      readonly filename: string;
      readonly raw: JsonObject;
    }
  /** No part of OpenAI's chat shape: perhaps a provider's own. */
  | { readonly kind: "other"; readonly raw: JsonObject };

const NOTHING: JsonObject = {};

/** The parts of a message's `content`: a text, a list of parts, or null. What is no object in a list is left out. */
export function partsOf(content: unknown): MessagePart[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content, raw: NOTHING }];
  if (!Array.isArray(content)) return [];
  const parts: MessagePart[] = [];
  for (const item of content as unknown[]) {
    if (typeof item === "string") parts.push({ kind: "text", text: item, raw: NOTHING });
    else if (isObject(item)) parts.push(partOf(item));
  }
  return parts;
}

/** The text of a message's `content`, its other parts left out. */
export function textOf(content: unknown): string {
  let text = "";
  for (const part of partsOf(content)) if (part.kind === "text") text += part.text;
  return text;
}

function partOf(raw: JsonObject): MessagePart {
  switch (raw["type"]) {
    case "text":
    case "input_text":
    case "output_text":
      return { kind: "text", text: stringOf(raw["text"]), raw };
    case "refusal":
      return { kind: "text", text: stringOf(raw["refusal"]), raw };
    case "image_url":
    case "input_image":
      return linkedPart(raw, "image", raw["image_url"]);
    case "audio_url":
      return linkedPart(raw, "audio", raw["audio_url"]);
    case "video_url":
      return linkedPart(raw, "video", raw["video_url"]);
    case "input_audio":
      return audioPart(raw, raw["input_audio"]);
    case "file":
    case "input_file":
      return filePart(raw, isObject(raw["file"]) ? raw["file"] : raw);
    default:
      return { kind: "other", raw };
  }
}

/** `{image_url: "..."}` or `{image_url: {url: "..."}}`: a data URL or an address. */
function linkedPart(raw: JsonObject, family: MediaFamily, link: unknown): MessagePart {
  const url = isObject(link) ? stringOf(link["url"]) : stringOf(link);
  if (url === "") return { kind: "other", raw };
  const told = isObject(link) ? stringOf(link["mime_type"]) : "";
  return mediaPart(raw, family, url, told, "");
}

function audioPart(raw: JsonObject, audio: unknown): MessagePart {
  if (!isObject(audio) || typeof audio["data"] !== "string") return { kind: "other", raw };
  const format = stringOf(audio["format"]);
  const mimeType = MIME_TYPES.get(format.toLowerCase()) ?? (format === "" ? "audio/wav" : `audio/${format}`);
  if (audio["data"].startsWith("data:")) return mediaPart(raw, "audio", audio["data"], mimeType, "");
  return { kind: "media", family: "audio", mimeType, source: { kind: "base64", data: audio["data"] }, filename: "", raw };
}

function filePart(raw: JsonObject, file: JsonObject): MessagePart {
  const filename = stringOf(file["filename"]) || stringOf(file["file_name"]);
  const told = stringOf(file["mime_type"]) || mimeTypeOfName(filename);
  const data = stringOf(file["file_data"]);
  if (data.startsWith("data:")) return mediaPart(raw, "file", data, told, filename);
  if (data !== "") {
    const mimeType = told || "application/pdf";
    return { kind: "media", family: familyOf(mimeType, "file"), mimeType, source: { kind: "base64", data }, filename, raw };
  }
  const url = stringOf(file["file_url"]);
  if (url !== "") return mediaPart(raw, "file", url, told, filename);
  const id = stringOf(file["file_id"]);
  if (id === "") return { kind: "other", raw };
  return { kind: "media", family: familyOf(told, "file"), mimeType: told, source: { kind: "id", id }, filename, raw };
}

function mediaPart(raw: JsonObject, family: MediaFamily, url: string, told: string, filename: string): MessagePart {
  const data = url.startsWith("data:") ? dataUrl(url) : null;
  if (data !== null) {
    const mimeType = data.mimeType || told;
    return { kind: "media", family: familyOf(mimeType, family), mimeType, source: { kind: "base64", data: data.base64 }, filename, raw };
  }
  const mimeType = told || mimeTypeOfName(pathOf(url));
  return { kind: "media", family: familyOf(mimeType, family), mimeType, source: { kind: "url", url }, filename, raw };
}

/** A data URL taken apart; a text one is encoded. */
function dataUrl(url: string): { mimeType: string; base64: string } | null {
  const comma = url.indexOf(",");
  if (comma < 0) return null;
  const [type = "", ...parameters] = url.slice("data:".length, comma).split(";");
  const mimeType = type.trim().toLowerCase();
  const data = url.slice(comma + 1);
  const encoded = parameters.some((parameter) => parameter.trim().toLowerCase() === "base64");
  return {
    mimeType: mimeType === "image/jpg" ? "image/jpeg" : mimeType,
    base64: encoded ? data : Buffer.from(percentDecoded(data)).toString("base64"),
  };
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end < 0 ? url : url.slice(0, end);
}

function mimeTypeOfName(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot < 0 ? "" : (MIME_TYPES.get(name.slice(dot + 1).toLowerCase()) ?? "");
}

function familyOf(mimeType: string, otherwise: MediaFamily): MediaFamily {
  const slash = mimeType.indexOf("/");
  const kind = slash < 0 ? "" : mimeType.slice(0, slash);
  if (kind === "image" || kind === "audio" || kind === "video") return kind;
  return kind === "" ? otherwise : "file";
}

/** By file extension, and by the names of audio formats. */
const MIME_TYPES: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["gif", "image/gif"],
  ["webp", "image/webp"],
  ["heic", "image/heic"],
  ["heif", "image/heif"],
  ["mp3", "audio/mpeg"],
  ["mpeg", "audio/mpeg"],
  ["wav", "audio/wav"],
  ["ogg", "audio/ogg"],
  ["flac", "audio/flac"],
  ["aac", "audio/aac"],
  ["m4a", "audio/mp4"],
  ["pcm16", "audio/pcm"],
  ["mp4", "video/mp4"],
  ["mov", "video/quicktime"],
  ["webm", "video/webm"],
  ["pdf", "application/pdf"],
  ["txt", "text/plain"],
  ["md", "text/markdown"],
  ["csv", "text/csv"],
  ["html", "text/html"],
  ["json", "application/json"],
]);
