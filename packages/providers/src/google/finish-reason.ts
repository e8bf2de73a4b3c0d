/** Words of the finish reasons whose numbers come when a client asked for enums as numbers. */
const NUMBERED: readonly string[] = [
  "",
  "STOP",
  "MAX_TOKENS",
  "SAFETY",
  "RECITATION",
  "OTHER",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
];

/** The provider's word for why a candidate ended; "" while it has not. */
export function reasonWord(reason: unknown): string {
  if (typeof reason === "number") return NUMBERED[reason] ?? "OTHER";
  return typeof reason === "string" && reason !== "FINISH_REASON_UNSPECIFIED" ? reason : "";
}

/** OpenAI's finish reason for a word of Google's. Unknown ones are a plain stop. */
export function finishReasonOf(word: string): string {
  switch (word) {
    case "MAX_TOKENS":
      return "length";
    case "SAFETY":
    case "RECITATION":
    case "BLOCKLIST":
    case "PROHIBITED_CONTENT":
    case "SPII":
    case "MODEL_ARMOR":
    case "IMAGE_SAFETY":
    case "IMAGE_PROHIBITED_CONTENT":
    case "IMAGE_RECITATION":
      return "content_filter";
    default:
      return "stop";
  }
}
