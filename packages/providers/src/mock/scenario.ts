/** What a model name asks the mock to do; see the table in index.ts. */
export interface Scenario {
  readonly kind: "answer" | "error" | "cut" | "stream-error" | "late-error" | "garbage";
  /** Of kind "error". */
  readonly status: number;
  /** Before the head, ms. */
  readonly delayMs: number;
  /** Between two content chunks of a stream, ms. */
  readonly betweenMs: number;
  /** Exact number of content chunks (and words) of the answer; 0 = as many as it has. */
  readonly chunks: number;
  readonly reasoning: boolean;
}

const PLAIN: Scenario = { kind: "answer", status: 200, delayMs: 0, betweenMs: 0, chunks: 0, reasoning: false };

/** Longest wait a name may ask for, ms. */
const MAX_WAIT_MS = 600_000;
const MAX_CHUNKS = 10_000;

const FIXED: Readonly<Record<string, Scenario>> = {
  "mock-cut": { ...PLAIN, kind: "cut" },
  "mock-stream-error": { ...PLAIN, kind: "stream-error" },
  "mock-stream-error-late": { ...PLAIN, kind: "late-error" },
  "mock-garbage": { ...PLAIN, kind: "garbage" },
  "mock-reasoning": { ...PLAIN, reasoning: true },
};

/** The scenario of a model name; any name that is not in the table answers plainly. */
export function scenarioOf(model: string): Scenario {
  if (Object.hasOwn(FIXED, model)) return FIXED[model] ?? PLAIN;
  const numbered = /^mock-(error|slow|drip|stream)-(\d{1,7})$/.exec(model);
  if (numbered === null) return PLAIN;
  const amount = Number(numbered[2]);
  switch (numbered[1]) {
    case "error":
      return amount >= 400 && amount <= 599 ? { ...PLAIN, kind: "error", status: amount } : PLAIN;
    case "slow":
      return { ...PLAIN, delayMs: Math.min(amount, MAX_WAIT_MS) };
    case "drip":
      return { ...PLAIN, betweenMs: Math.min(amount, MAX_WAIT_MS) };
    default:
      return { ...PLAIN, chunks: Math.min(amount, MAX_CHUNKS) };
  }
}
