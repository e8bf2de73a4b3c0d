import type { LogHead } from "@unigate/events";
import { shownSpans } from "@unigate/traces";
import type { FoundLog } from "./log-store.ts";

/** A record without its bodies as the API shows it: what is stored, and `cost` in `cost_currency`. */
export function shownHead(head: string): string {
  return `${head.slice(0, -1)},${costFields(parsed(head))}}`;
}

/** A whole record as the API shows it, with its spans, which are made from it. */
export function shownRecord(found: FoundLog): Buffer {
  const head = parsed(found.head);
  const derived = `,${costFields(head)},"spans":${JSON.stringify(shownSpans(head))}}`;
  return Buffer.concat([withoutBrace(found), Buffer.from(derived)]);
}

/** A body was taken for JSON on the writer's word; if that was wrong the record is given without its bodies. */
function withoutBrace({ head, bytes }: FoundLog): Buffer {
  try {
    JSON.parse(bytes.toString("utf8"));
    return bytes.subarray(0, -1);
  } catch {
    return Buffer.from(`${head.slice(0, -1)},"request":null,"response":null`);
  }
}

/** What is stored was checked when it came. */
function parsed(head: string): LogHead {
  return JSON.parse(head) as LogHead;
}

function costFields({ cost_micro_usd: micro }: LogHead): string {
  return `"cost":${micro === null ? null : micro / 1e6},"cost_currency":"USD"`;
}
