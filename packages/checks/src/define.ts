import type { Call, JsonObject } from "@unigate/core";

/** What a check sees. */
export interface CheckInput {
  readonly phase: "before" | "after";
  /** The text under check: the last message, the prompt, or the first choice of the answer (behaviour 7.2). */
  readonly text: string;
  /** The request's JSON body. */
  readonly request: JsonObject;
  /** The request's text; before a request the same as `text`. */
  readonly requestText: string;
  /** The answer's JSON body in the phase "after", else null. */
  readonly reply: JsonObject | null;
  /** HTTP status of the answer, else null. */
  readonly status: number | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly model: string;
  /** Identifier of the provider that the request goes to: "openai". */
  readonly provider: string;
  /** Client headers by lower-case name: only those that a check of the same call names in `forwardHeaders`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The endpoint's shape: "chat", "completions", "embeddings", "messages", "responses". */
  readonly surface: string;
  /** Whether the client asked for a stream. */
  readonly stream: boolean;
  /** Whether an earlier check has rewritten the body of this phase. */
  readonly rewritten: boolean;
}

/** What a check found. */
export interface CheckVerdict {
  readonly verdict: boolean;
  /** Any JSON, shown in hook_results; most checks give an object. */
  readonly data: unknown;
  /** The whole new body of this phase; absent = unchanged. */
  readonly rewritten?: JsonObject;
}

/** A check whose parameters have been read and found good. A thrown error is a check error (passes unless failOnError). */
export type PreparedCheck = (input: CheckInput, outside: Outside) => CheckVerdict | Promise<CheckVerdict>;

/** A kind of guardrail check; its folder carries its name. */
export interface Check {
  /** "default.contains". */
  readonly id: string;
  readonly phases: readonly ("before" | "after")[];
  /** For a check that asks another system; absent = all is done in this process. */
  readonly external?: ExternalCheck;
  /** Reads the parameters once. Throws CheckParameterError naming the parameter and what was expected. */
  prepare(parameters: JsonObject): PreparedCheck;
}

/** What is different about a check that asks another system. */
export interface ExternalCheck {
  /** Longest that one run may take, ms: it bounds itself within that. */
  readonly longestMs: number;
  /** Parameters that hold credentials: sealed where they are saved, and given to `prepare` as `Secret` of their JSON. */
  readonly secretParameters: readonly string[];
}

/** What an external check may use. */
export interface Outside {
  /** Cancelled when the request is given up or the check's time is over. */
  readonly call: Call;
  /** Posts to an address that a user gave. Goes nowhere private, follows no redirect. Never rejects. */
  post(request: PostRequest, call: Call): Promise<PostAnswer | PostFailure>;
}

export interface PostRequest {
  /** As the user wrote it; checked where it is sent. */
  readonly url: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** For the whole exchange, ms. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
}

export interface PostAnswer {
  readonly kind: "answer";
  readonly status: number;
  /** Empty unless the status is 200 to 299. */
  readonly body: Buffer;
}

export interface PostFailure {
  readonly kind: "failed";
  readonly code: "refused" | "timeout" | "cancelled" | "too_large" | "unreachable";
  /** What happened, fit to be shown to the user: names no address that the user did not write. */
  readonly reason: string;
}

/** A parameter of a check that cannot be used. */
export class CheckParameterError extends Error {
  override readonly name = "CheckParameterError";
  readonly parameter: string;

  constructor(parameter: string, expected: string) {
    super(`${parameter}: expected ${expected}`);
    this.parameter = parameter;
  }
}
