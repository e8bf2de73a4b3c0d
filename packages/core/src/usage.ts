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

/** Both together; null is nothing known. */
export function sumUsage(left: Usage | null, right: Usage | null): Usage | null {
  if (left === null || right === null) return left ?? right;
  const units = { ...left.units };
  for (const unit in right.units) units[unit] = (units[unit] ?? 0) + (right.units[unit] ?? 0);
  return {
    input: left.input + right.input,
    cacheRead: left.cacheRead + right.cacheRead,
    cacheWrite5m: left.cacheWrite5m + right.cacheWrite5m,
    cacheWrite1h: left.cacheWrite1h + right.cacheWrite1h,
    outputText: left.outputText + right.outputText,
    reasoning: left.reasoning + right.reasoning,
    audioIn: left.audioIn + right.audioIn,
    audioOut: left.audioOut + right.audioOut,
    image: left.image + right.image,
    estimated: left.estimated || right.estimated,
    units,
  };
}
