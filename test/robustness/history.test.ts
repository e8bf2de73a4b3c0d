import { describe, expect, test } from "vitest";
import { type ClientSide, type History, type LogSide, type UpstreamSide, violationsOf } from "./history.ts";

// The checker must not be blind: each kind of violation, made by hand, is found, and a good history has none.

const request = (trace: string, over: Partial<ClientSide> = {}): ClientSide => ({
  trace,
  startedAt: 1_000,
  endedAt: 1_050,
  status: 200,
  ...over,
});
const tried = (trace: string, target = "first", at = 1_020): UpstreamSide => ({ trace, target, at });
const record = (trace: string, over: Partial<LogSide> = {}): LogSide => ({
  id: `${trace}-${over.attempt ?? 0}`,
  trace,
  attempt: 0,
  outcome: "success",
  status: 200,
  ...over,
});
const interrupted = (trace: string, attempt = 0): LogSide =>
  record(trace, { id: `${trace}-interrupted`, attempt, outcome: "interrupted", status: 0 });
const kindsOf = (history: History): string[] => violationsOf(history).map(({ kind }) => kind);
const one = { client: [request("a")], upstream: [tried("a")] };
const twoTargets = [tried("a", "first"), tried("a", "second")];
const twoRecords = [record("a", { outcome: "failed", status: 500 }), record("a", { attempt: 1 })];

describe("a history that keeps what is promised", () => {
  test.each<[string, History]>([
    ["nothing happened", { client: [], upstream: [], log: [] }],
    ["one request", { ...one, log: [record("a")] }],
    ["an answer of the cache: no target was tried", { client: [request("a")], upstream: [], log: [record("a", { outcome: "cache_hit" })] }],
    ["a fallback is two records", { client: [request("a")], upstream: twoTargets, log: twoRecords }],
    [
      "a second target that was tried and not reached",
      {
        client: [request("a", { targets: 2, status: 503 })],
        upstream: [tried("a")],
        log: [record("a", { outcome: "failed", status: 500 }), record("a", { attempt: 1, outcome: "failed", status: 503 })],
      },
    ],
    ["a stranger leaves none", { client: [request("a", { status: 401, stranger: true })], upstream: [], log: [] }],
    [
      "a client that left",
      { client: [request("a", { status: null })], upstream: [tried("a")], log: [record("a", { outcome: "cancelled", status: 499 })] },
    ],
    ["cut off by a kill", { ...cutOff(1_100), log: [interrupted("a")] }],
    [
      "cut off in its second try",
      {
        client: [request("a", { status: null, endedAt: 1_100 })],
        upstream: twoTargets,
        log: [record("a", { outcome: "failed", status: 500 }), interrupted("a", 1)],
        killedAt: [1_099],
      },
    ],
    [
      "answered within the last 10 ms, and admitted then too",
      { ...one, upstream: [tried("a", "first", 1_047)], log: [], killedAt: [1_055] },
    ],
    ["nothing of what was admitted less than 10 ms before the kill", { ...cutOff(1_025), log: [] }],
    ["nothing of what met nobody", { client: [request("a", { status: null })], upstream: [], log: [] }],
    ["nothing of what nobody knows to have been admitted", { ...cutOff(1_025), upstream: [], log: [] }],
    ["answered within the last 10 ms, and told as interrupted", { ...one, log: [interrupted("a")], killedAt: [1_055] }],
    [
      "answered by its second target within the last 10 ms, of which no record is left",
      { client: [request("a")], upstream: twoTargets, log: twoRecords.slice(0, 1), killedAt: [1_055] },
    ],
    ["as many as the limit lets through", limited(3, ["counted", "counted", "refused", "counted"])],
    ["uncounted while it could not be counted", { ...limited(1, ["counted", "uncounted"]), uncounted: [{ from: 1_040, to: 1_100 }] }],
  ])("%s", (_, history) => {
    expect(violationsOf(history)).toEqual([]);
  });
});

/** A request that the kill of its process cut off. */
function cutOff(at: number): Omit<History, "log"> {
  return { client: [request("a", { status: null, endedAt: at })], upstream: [tried("a")], killedAt: [at] };
}

function limited(most: number, kinds: readonly ("counted" | "uncounted" | "refused")[]): History {
  const client = kinds.map((kind, index) =>
    request(`l${index}`, { limit: "key", counted: kind !== "uncounted", status: kind === "refused" ? 429 : 200 }),
  );
  const log = client.map(({ trace, status }) => record(trace, { status: status ?? 0, outcome: status === 429 ? "refused" : "success" }));
  const upstream = client.filter(({ status }) => status === 200).map(({ trace }) => tried(trace));
  return { client, upstream, log, limits: { key: most } };
}

describe("a history that breaks it", () => {
  test.each<[string, string[], History]>([
    ["no record", ["lost"], { ...one, log: [] }],
    ["no record, older than 10 ms at the kill", ["lost"], { ...one, log: [], killedAt: [1_061] }],
    ["no record, though the kill came before it began", ["lost"], { ...one, log: [], killedAt: [900] }],
    ["nothing of what was cut off, and nothing was killed", ["lost"], { ...cutOff(1_035), killedAt: [], log: [] }],
    ["nothing of what was admitted long before the kill, and answered just then", ["lost"], { ...one, log: [], killedAt: [1_055] }],
    ["nothing of what was cut off", ["lost"], { ...cutOff(1_035), log: [] }],
    ["the record of the first of two targets", ["lost"], { client: [request("a")], upstream: twoTargets, log: twoRecords.slice(1) }],
    [
      "the record of the last of two targets",
      ["lost", "wrong"],
      { client: [request("a")], upstream: twoTargets, log: twoRecords.slice(0, 1) },
    ],
    ["a refusal without a record", ["lost"], { ...limited(1, ["counted", "refused"]), log: [record("l0")] }],
    ["two records of one try", ["doubled", "doubled"], { ...one, log: [record("a"), record("a", { id: "again" })] }],
    ["the same record twice", ["doubled", "doubled"], { ...one, log: [record("a"), record("a")] }],
    ["a record and an interrupted one besides", ["doubled", "wrong"], { ...one, log: [record("a"), interrupted("a", 1)] }],
    [
      "more records than it has targets",
      ["doubled"],
      { client: [request("a", { targets: 2 })], upstream: twoTargets, log: [...twoRecords, record("a", { attempt: 2 })] },
    ],
    ["the same, young", ["doubled"], { ...one, log: [record("a"), interrupted("a", 1)], killedAt: [1_055] }],
    ["one target was sent it twice", ["doubled"], { ...one, upstream: [tried("a"), tried("a")], log: [record("a")] }],
    ["told as interrupted, though it was answered long before", ["wrong"], { ...one, log: [interrupted("a")], killedAt: [2_000] }],
    ["told as interrupted, and nothing was killed", ["wrong"], { ...one, log: [interrupted("a")] }],
    ["another status", ["wrong"], { ...one, log: [record("a", { status: 502, outcome: "failed" })] }],
    ["another status, young", ["wrong"], { ...one, log: [record("a", { status: 502, outcome: "failed" })], killedAt: [1_055] }],
    ["a record of nothing", ["invented"], { ...one, log: [record("a"), record("ghost")] }],
    ["a record of a stranger", ["invented"], { client: [request("a", { status: 401, stranger: true })], upstream: [], log: [record("a")] }],
    ["one more than the limit", ["passed"], limited(2, ["counted", "counted", "counted"])],
    ["uncounted, and nothing was away", ["passed"], limited(5, ["counted", "uncounted"])],
    ["uncounted, after what was away had come back", ["passed"], { ...limited(5, ["uncounted"]), uncounted: [{ from: 100, to: 999 }] }],
    ["uncounted, before anything was away", ["passed"], { ...limited(5, ["uncounted"]), uncounted: [{ from: 1_051, to: 2_000 }] }],
  ])("%s", (_, kinds, history) => {
    expect(kindsOf(history)).toEqual(kinds);
  });
});
