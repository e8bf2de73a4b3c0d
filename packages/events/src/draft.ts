import type { Usage } from "@unigate/core";
import { type LogHead, type LogUsage, SCHEMA_VERSION } from "./record.ts";

/** A body on its way into a record: bytes, so that nothing is serialised while a request waits. */
export interface DraftMessage {
  /** Without credentials; null = not kept. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** Null = not kept. */
  readonly body: Buffer | null;
  /** The bytes are one valid JSON value (they were parsed): they go into the record as they are. */
  readonly json: boolean;
  /** The bytes are only the beginning. */
  readonly truncated: boolean;
}

/** A record as the edge hands it over. Nobody changes it afterwards. */
export interface LogDraft {
  readonly head: LogHead;
  readonly request: DraftMessage | null;
  readonly response: DraftMessage | null;
}

/** Longest metadata value and error message in a record, characters (DESIGN 8.12). */
const METADATA_VALUE = 128;
const ERROR_MESSAGE = 2_000;

/** A head with every field in the schema's order and nothing known yet: fill it by assignment, so that all share one shape. */
export function newHead(id: string, time: number): LogHead {
  return {
    id,
    schema_version: SCHEMA_VERSION,
    type: "request",
    time,
    trace_id: "",
    span_id: "",
    parent_span_id: null,
    span_name: "llm",
    sampled: false,
    request_id: "",
    attempt: 0,
    last: false,
    received_at: time,
    organisation_id: "",
    workspace_id: "",
    api_key_id: null,
    config_id: null,
    config_version: null,
    option_path: null,
    provider: null,
    provider_slug: null,
    server_address: null,
    model: null,
    response_model: null,
    surface: "",
    method: "",
    path: "",
    stream: false,
    status: 0,
    outcome: "failed",
    error: null,
    usage: null,
    cost_micro_usd: null,
    cache_status: null,
    retries: [],
    finish_reason: null,
    timings: {
      total_ms: 0,
      upstream_ms: null,
      first_token_ms: null,
      retry_wait_ms: 0,
      cache_ms: null,
      cache_at_ms: null,
      guardrail_ms: null,
      plan_at_ms: null,
      plan_ms: null,
    },
    metadata: {},
    decision: null,
    hook_results: null,
  };
}

/** The record's words for a usage; null stays null. */
export function usageOfRecord(usage: Usage | null): LogUsage | null {
  if (usage === null) return null;
  return {
    input: usage.input,
    cache_read: usage.cacheRead,
    cache_write_5m: usage.cacheWrite5m,
    cache_write_1h: usage.cacheWrite1h,
    output_text: usage.outputText,
    reasoning: usage.reasoning,
    audio_in: usage.audioIn,
    audio_out: usage.audioOut,
    image: usage.image,
    estimated: usage.estimated,
    units: usage.units,
  };
}

/** Metadata with values cut at 128 characters. The object itself when nothing is too long. */
export function cutMetadata(metadata: Readonly<Record<string, string>>): Record<string, string> {
  let cut: Record<string, string> | null = null;
  for (const name in metadata) {
    const value = metadata[name] ?? "";
    if (value.length <= METADATA_VALUE) continue;
    cut ??= { ...metadata };
    cut[name] = value.slice(0, METADATA_VALUE);
  }
  return cut ?? metadata;
}

/** An error message no longer than a record takes. */
export function cutMessage(message: string): string {
  return message.length <= ERROR_MESSAGE ? message : `${message.slice(0, ERROR_MESSAGE - 3)}...`;
}
