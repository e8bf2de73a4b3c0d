import type { Delta, End, Failure, Head, ReplyPart } from "@unigate/contracts";
import type { Usage } from "@unigate/core";
import type { FailedOutcome } from "./outcome.ts";

const NO_DELTAS: Delta[] = [];
const NOTHING = Buffer.alloc(0);
/** Longest data of one chunk (mesh.md section 2). */
const MAX_CHUNK = 256 * 1024;

export function headPart(head: Head): ReplyPart {
  return { part: { $case: "head", value: head } };
}

/** The bytes as chunks of at most 256 KiB. */
export function* chunkParts(data: Buffer): Generator<ReplyPart> {
  if (data.length <= MAX_CHUNK) {
    yield chunkPart(data);
    return;
  }
  for (let at = 0; at < data.length; at += MAX_CHUNK) yield chunkPart(data.subarray(at, at + MAX_CHUNK));
}

function chunkPart(data: Buffer): ReplyPart {
  return { part: { $case: "chunk", value: { data, deltas: NO_DELTAS } } };
}

/** How a reply ended, beside its bytes. */
export interface EndFacts {
  readonly complete: boolean;
  readonly failure?: Failure | null;
  readonly usage?: Usage | null;
  readonly finishReason?: string;
  readonly model?: string;
  readonly assembled?: Buffer;
}

export function endPart(facts: EndFacts): ReplyPart {
  const end: End = {
    complete: facts.complete,
    failure: facts.failure ?? undefined,
    usage: facts.usage ?? undefined,
    finishReason: facts.finishReason ?? "",
    model: facts.model ?? "",
    assembled: facts.assembled ?? NOTHING,
    sentBody: NOTHING,
  };
  return { part: { $case: "end", value: end } };
}

/** A whole reply that is an error. */
export async function* failedParts(outcome: FailedOutcome): AsyncGenerator<ReplyPart> {
  yield headPart(outcome.head);
  yield* chunkParts(outcome.body);
  yield endPart({ complete: false, failure: outcome.head.failure ?? null });
}
