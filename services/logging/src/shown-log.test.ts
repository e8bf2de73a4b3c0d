import { encodeRecord, newHead, readRecord } from "@unigate/events";
import { expect, test } from "vitest";
import { shownHead, shownRecord } from "./shown-log.ts";

function found(micro: number | null, body: string) {
  const head = { ...newHead("a", 1_000), cost_micro_usd: micro, metadata: { cost_micro_usd: "7" } };
  const request = { headers: null, body: Buffer.from(body), json: true, truncated: false };
  const read = readRecord(encodeRecord({ head, request, response: null }));
  if (!read.ok) throw new Error(read.detail);
  return { head: JSON.stringify(head), bytes: read.record.bytes };
}

test.each([
  [1_234_567, 1.234567],
  [1, 0.000001],
  [0, 0],
  [null, null],
])("%s micro-USD are %s USD, beside what is stored", (micro, cost) => {
  const given = found(micro, '{"a":1}');
  const shown = { cost, cost_currency: "USD" };
  expect(JSON.parse(shownHead(given.head))).toEqual({ ...JSON.parse(given.head), ...shown });
  expect(JSON.parse(String(shownRecord(given)))).toEqual({ ...JSON.parse(String(given.bytes)), ...shown, spans: [] });
});

test("a body that is no JSON, against its writer's word, is left out", () => {
  const given = found(null, "{");
  expect(JSON.parse(String(shownRecord(given)))).toEqual({
    ...JSON.parse(given.head),
    request: null,
    response: null,
    cost: null,
    cost_currency: "USD",
    spans: [],
  });
});
