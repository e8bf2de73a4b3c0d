/** A part of a request with a beginning and an end, in the words of OpenTelemetry. */
export interface Span {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** 16 hex digits; empty = the first span of its trace. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: "server" | "client" | "internal";
  /** Unix ms. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** What went wrong; null = nothing. */
  readonly error: string | null;
}

/** Numbers are whole, but for `FRACTIONS`. */
export type AttributeValue = string | number | boolean | readonly string[];

/** Attributes that are not whole numbers, even when they happen to be. */
export const FRACTIONS: ReadonlySet<string> = new Set(["gen_ai.usage.cost", "gen_ai.response.time_to_first_chunk"]);
