/** OpenAI's finish reason for a `stop_reason`. Unknown ones are a plain stop. */
export function finishReasonOf(stopReason: unknown): string {
  switch (stopReason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "tool_use":
      return "tool_calls";
    case "refusal":
      return "content_filter";
    default:
      return "stop";
  }
}
