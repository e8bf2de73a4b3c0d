import type { JsonObject } from "@unigate/core";
import type { Piece } from "./pieces.ts";

/** What a candidate tells beside its content. Clients see it outside strict mode, on the choice, under Google's names. */
const CHOICE_EXTRAS = ["groundingMetadata", "citationMetadata", "urlContextMetadata", "safetyRatings"] as const;

/** The extras of a candidate. */
export function extrasOf(candidate: JsonObject): JsonObject {
  const extras: JsonObject = {};
  for (const name of CHOICE_EXTRAS) if (candidate[name] != null) extras[name] = candidate[name];
  return extras;
}

/** A piece as (part of) a content block; null for calls, which have their own place. */
export function blockOf(piece: Piece): JsonObject | null {
  switch (piece.kind) {
    case "text":
      return { text: piece.text };
    case "thought":
      return { thinking: piece.text };
    case "media":
      return { type: "image_url", image_url: { url: piece.url } };
    case "call":
      return null;
  }
}

/** Numbers the content blocks of a candidate: texts of one kind that follow each other are one block. */
export function createBlockCounter(): (piece: Piece) => number {
  let last = "";
  let count = 0;
  return (piece) => {
    if (piece.kind !== last || piece.kind === "media") count++;
    last = piece.kind;
    return count - 1;
  };
}
