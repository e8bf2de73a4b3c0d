import type { LogHead } from "@unigate/events";
import { providerName } from "./provider-name.ts";
import type { AttributeValue } from "./span.ts";

type Attributes = Record<string, AttributeValue>;

/** What an endpoint does, in the words of the GenAI conventions; others have none. */
const OPERATIONS: Readonly<Record<string, string>> = {
  "/chat/completions": "chat",
  "/messages": "chat",
  "/responses": "chat",
  "/completions": "text_completion",
  "/embeddings": "embeddings",
};

export function operationOf({ surface, path }: LogHead): string | null {
  return surface === "chat" ? "chat" : (OPERATIONS[path] ?? null);
}

/** Attributes of a call to a provider: GenAI and HTTP conventions, and words of the gateway under `unigate.`. */
export function targetAttributes(head: LogHead): Attributes {
  const attributes: Attributes = {
    "gen_ai.provider.name": providerName(head.provider ?? ""),
    "unigate.log.id": head.id,
    "unigate.attempt": head.attempt,
    "unigate.outcome": head.outcome,
  };
  put(attributes, "gen_ai.operation.name", operationOf(head));
  put(attributes, "gen_ai.request.model", head.model);
  put(attributes, "gen_ai.response.model", head.response_model);
  if (head.stream) attributes["gen_ai.request.stream"] = true;
  if (head.finish_reason !== null) attributes["gen_ai.response.finish_reasons"] = [head.finish_reason];
  if (head.timings.first_token_ms !== null) attributes["gen_ai.response.time_to_first_chunk"] = head.timings.first_token_ms / 1_000;
  putUsage(attributes, head);
  put(attributes, "server.address", head.server_address ?? null);
  if (wasAnswered(head)) attributes["http.response.status_code"] = head.status;
  if (head.retries.length > 0) attributes["http.request.resend_count"] = head.retries.length;
  put(attributes, "error.type", errorType(head));
  put(attributes, "unigate.option_path", head.option_path);
  put(attributes, "unigate.provider.slug", head.provider_slug);
  put(attributes, "unigate.cache.status", head.cache_status);
  return attributes;
}

/** Why it failed, in a word; null when it did not. */
export function errorType(head: LogHead): string | null {
  if (head.outcome === "success" || head.outcome === "cache_hit") return null;
  return head.error?.code ?? (head.error === null ? null : head.error.type) ?? (head.status > 0 ? String(head.status) : head.outcome);
}

function putUsage(attributes: Attributes, { usage, cost_micro_usd: cost }: LogHead): void {
  if (cost !== null) attributes["gen_ai.usage.cost"] = cost / 1e6;
  if (usage === null) return;
  const written = usage.cache_write_5m + usage.cache_write_1h;
  attributes["gen_ai.usage.input_tokens"] = usage.input + usage.cache_read + written + usage.audio_in;
  attributes["gen_ai.usage.output_tokens"] = usage.output_text + usage.reasoning + usage.audio_out + usage.image;
  if (usage.cache_read > 0) attributes["gen_ai.usage.cache_read.input_tokens"] = usage.cache_read;
  if (written > 0) attributes["gen_ai.usage.cache_creation.input_tokens"] = written;
  if (usage.reasoning > 0) attributes["gen_ai.usage.reasoning.output_tokens"] = usage.reasoning;
  if (usage.audio_in > 0) attributes["gen_ai.usage.audio.input_tokens"] = usage.audio_in;
  if (usage.audio_out > 0) attributes["gen_ai.usage.audio.output_tokens"] = usage.audio_out;
}

/** Whether the status is one that the provider gave. */
function wasAnswered({ outcome, error }: LogHead): boolean {
  if (outcome === "success") return true;
  return (
    outcome === "failed" && error !== null && (error.blame === "upstream" || error.blame === "client") && error.code !== "request_timeout"
  );
}

export function put(attributes: Attributes, name: string, value: AttributeValue | null): void {
  if (value !== null) attributes[name] = value;
}
