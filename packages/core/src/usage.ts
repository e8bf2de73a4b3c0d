/** Tokens used, in disjoint buckets (same fields as unigate.common.v1.Usage). */
export interface Usage {
  /** Prompt tokens neither read from nor written to a provider's cache. */
  input: number;
  cacheRead: number;
  cacheWrite5m: number;
  cacheWrite1h: number;
  /** Generated tokens other than reasoning, audio, image. */
  outputText: number;
  reasoning: number;
  audioIn: number;
  audioOut: number;
  image: number;
  /** Counted by the gateway, not said by the provider. */
  estimated: boolean;
  /** Anything billed by other units. */
  units: Record<string, number>;
}

/** A usage of nothing, to be filled. */
export function emptyUsage(): Usage {
  return {
    input: 0,
    cacheRead: 0,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    outputText: 0,
    reasoning: 0,
    audioIn: 0,
    audioOut: 0,
    image: 0,
    estimated: false,
    units: {},
  };
}

/** Tokens of the prompt, cached ones included. */
export function promptTokens(usage: Usage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h + usage.audioIn;
}

/** Tokens generated, reasoning included. */
export function completionTokens(usage: Usage): number {
  return usage.outputText + usage.reasoning + usage.audioOut + usage.image;
}
