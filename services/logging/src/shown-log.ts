import type { LogHead } from "@unigate/events";
import type { FoundLog } from "./log-store.ts";

/** A record without its bodies as the API shows it: what is stored, and `cost` in `cost_currency`. */
export function shownHead(head: string): string {
  return `${head.slice(0, -1)},${costFields(head)}}`;
}

/** A whole record as the API shows it. */
export function shownRecord(found: FoundLog): Buffer {
  const derived = `,${costFields(found.head)}}`;
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

function costFields(head: string): string {
  const { cost_micro_usd: micro } = JSON.parse(head) as Partial<LogHead>;
  return `"cost":${typeof micro === "number" ? micro / 1e6 : null},"cost_currency":"USD"`;
}
