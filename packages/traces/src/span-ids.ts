import { createHash } from "node:crypto";

/** The ids of the spans that one record makes: the same whenever they are made, so that a span that comes twice is one. */
export interface SpanIds {
  /** Of the target that was tried. */
  readonly target: string;
  /** Of the spans below it, each another one. */
  child(number: number): string;
}

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const LOW = 0xffff_ffffn;

/** The random half of a record's id, a UUID of version 7; of any other id a hash. */
export function spanIdsOf(recordId: string): SpanIds {
  const target = UUID_7.test(recordId)
    ? recordId.slice(19, 23) + recordId.slice(24)
    : createHash("sha256").update(recordId).digest("hex").slice(0, 16);
  return {
    target,
    child(number) {
      const value = BigInt(`0x${target}`);
      return ((value & ~LOW) | ((value + BigInt(number) + 1n) & LOW)).toString(16).padStart(16, "0");
    },
  };
}
