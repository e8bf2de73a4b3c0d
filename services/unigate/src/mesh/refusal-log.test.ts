import type { Refused } from "@unigate/rpc";
import type { Logger } from "@unigate/runtime";
import { beforeEach, expect, test } from "vitest";
import { refusalLog } from "./refusal-log.ts";

let lines: object[] = [];
let now = 0;
const log: Logger = { debug() {}, info() {}, error() {}, fatal() {}, warn: (fields: unknown) => void lines.push(fields as object) };

function refusal(address: string, reason: Refused["reason"] = "expired"): Refused {
  return { reason, address, text: "no" };
}

beforeEach(() => {
  lines = [];
  now = 0;
});

test("each peer and reason once a minute, whatever port the peer has", () => {
  const tell = refusalLog(log, () => now);
  for (let port = 1; port < 100; port += 1) {
    tell(refusal(`10.0.0.7:${port}`));
    tell(refusal(`10.0.0.8:${port}`));
    tell(refusal(`[::1]:${port}`, "caller"));
  }
  expect(lines).toEqual([refusal("10.0.0.7:1"), refusal("10.0.0.8:1"), refusal("[::1]:1", "caller")]);
  now = 59_999;
  tell(refusal("10.0.0.7:5"));
  expect(lines).toHaveLength(3);
  now = 60_000;
  tell(refusal("10.0.0.7:6"));
  expect(lines.slice(3)).toEqual([refusal("10.0.0.7:6")]);
});

test("a thousand peers are told, of more only the number, a minute later", () => {
  const tell = refusalLog(log, () => now);
  for (let host = 0; host < 5_000; host += 1) tell(refusal(`10.0.${host >> 8}.${host & 255}:1`));
  expect(lines).toHaveLength(1_000);
  now = 60_000;
  tell(refusal("10.0.0.7:1"));
  expect(lines.slice(1_000)).toEqual([{ refused: 4_000 }, refusal("10.0.0.7:1")]);
});
