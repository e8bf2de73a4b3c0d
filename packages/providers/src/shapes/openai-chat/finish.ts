/** Finish reasons of the vendors, as the gateway's own four and the legacy one (providers.md section 0). */
const USUAL: Readonly<Record<string, string>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  content_filter: "content_filter",
  function_call: "function_call",
  eos: "stop",
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_length: "length",
  tool_use: "tool_calls",
  safety: "content_filter",
  sensitive: "content_filter",
  content_filtered: "content_filter",
};

/** The gateway's word for a vendor's finish reason: null while there is none ("" too), "stop" for an unknown one. */
export function finishReason(reason: unknown, more: Readonly<Record<string, string>> | undefined): string | null {
  if (typeof reason !== "string" || reason === "") return null;
  if (more !== undefined && Object.hasOwn(more, reason)) return more[reason] ?? "stop";
  return Object.hasOwn(USUAL, reason) ? (USUAL[reason] ?? "stop") : "stop";
}
