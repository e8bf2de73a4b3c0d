import type { AppendAck, LogQuery } from "@unigate/contracts";
import { backgroundCall } from "@unigate/core";
import { encodeRecord, type LogHead, newHead } from "@unigate/events";
import { beforeEach, describe, expect, test } from "vitest";
import { createLogStore } from "./memory/memory-log-store.ts";
import { createLoggingService } from "./service.ts";

const call = backgroundCall();
const TENANT = { organisationId: "org", workspaceId: "ws" };
let warnings: string[];
let service: ReturnType<typeof createLoggingService>;

beforeEach(() => {
  warnings = [];
  const warn = (fields: object, text: string) => void warnings.push(`${text} ${JSON.stringify(fields)}`);
  service = createLoggingService({ store: createLogStore(), log: { warn } as Parameters<typeof createLoggingService>[0]["log"] });
});

function record(id: string, more: Partial<LogHead> = {}): Buffer {
  const head = { ...newHead(id, 1_000), organisation_id: "org", workspace_id: "ws", ...more };
  const message = (text: string) => ({ headers: { a: "b" }, body: Buffer.from(JSON.stringify({ text })), json: true, truncated: false });
  return encodeRecord({ head, request: message(`ask ${id}`), response: message(`answer ${id}`) });
}

async function append(...records: Buffer[]): Promise<AppendAck[]> {
  const acks: AppendAck[] = [];
  async function* batches() {
    yield { spoolId: "s", offset: records.length, records };
  }
  for await (const ack of service.append(batches(), call)) acks.push(ack);
  return acks;
}

async function query(more: Partial<LogQuery> = {}, filter: object | null = null) {
  const filterJson = filter === null ? Buffer.alloc(0) : Buffer.from(JSON.stringify(filter));
  const reply = await service.queryLogs({ tenant: TENANT, from: 0, to: 0, filterJson, cursor: "", limit: 0, ...more }, call);
  if (reply.failure !== undefined) return reply.failure;
  return JSON.parse(reply.json.toString("utf8")) as {
    object: string;
    data: Record<string, unknown>[];
    next_cursor: string | null;
    has_more: boolean;
  };
}
const idsOf = async (...args: Parameters<typeof query>) => {
  const answer = await query(...args);
  return "data" in answer ? answer.data.map((row) => row["id"]) : answer;
};
const get = async (id: string, tenant: LogQuery["tenant"] = TENANT) => {
  const reply = await service.getLog({ tenant, id }, call);
  return reply.failure ?? (JSON.parse(reply.json.toString("utf8")) as Record<string, unknown>);
};

describe("append", () => {
  test("acknowledges what is stored, and a record that comes twice is one", async () => {
    expect(await append(record("a"), record("b"), record("a"))).toEqual([{ spoolId: "s", offset: 3 }]);
    await append(record("b"));
    expect(await idsOf()).toEqual(["b", "a"]);
  });

  test("a record that cannot be read is refused alone", async () => {
    const strange = Buffer.from(JSON.stringify({ schema_version: 7 }));
    expect(await append(record("a"), Buffer.from("{"), strange, record("b"))).toHaveLength(1);
    expect(await idsOf()).toEqual(["b", "a"]);
    expect(warnings).toEqual(['log records were refused {"refused":2,"reason":"invalid_json","detail":"not a JSON object"}']);
  });
});

describe("a store that fails or is slow", () => {
  const memory = createLogStore();
  const broken = {
    ...memory,
    add: () => Promise.reject(new Error("no disk")),
    list: () => Promise.reject(new Error("no disk")),
    get: () => Promise.reject(new Error("no disk")),
  };

  test("nothing is acknowledged, queries say that it is unavailable, and both are logged", async () => {
    const warn = (fields: object, text: string) => void warnings.push(`${text} ${JSON.stringify(fields)}`);
    service = createLoggingService({ store: broken, log: { warn } as Parameters<typeof createLoggingService>[0]["log"] });
    await expect(append(record("a"))).rejects.toThrow("no disk");
    expect(await query()).toMatchObject({ code: "service_unavailable", status: 503 });
    expect(await get("a")).toMatchObject({ code: "service_unavailable", status: 503 });
    expect(warnings).toHaveLength(3);
  });

  test("a search that takes too long is told how to be shorter", async () => {
    service = createLoggingService({ store: { ...memory, list: async () => ({ kind: "too_slow" }) }, log: { warn() {} } });
    expect(await query()).toMatchObject({ code: "overloaded", param: "from" });
  });

  test("the next batch is taken only when the one before is stored", async () => {
    const stored: (() => void)[] = [];
    const add: typeof memory.add = (records) => new Promise((resolve) => void stored.push(() => resolve(memory.add(records))));
    service = createLoggingService({ store: { ...memory, add }, log: { warn() {} } });
    let taken = 0;
    async function* batches() {
      for (let offset = 1; offset <= 3; offset++) {
        taken += 1;
        yield { spoolId: "s", offset, records: [record(`slow-${offset}`)] };
      }
    }
    const acks = service.append(batches(), call)[Symbol.asyncIterator]();
    for (let offset = 1; offset <= 3; offset++) {
      const ack = acks.next();
      await new Promise(setImmediate);
      expect([taken, stored.length]).toEqual([offset, offset]);
      stored.at(-1)?.();
      expect(await ack).toEqual({ done: false, value: { spoolId: "s", offset } });
    }
    expect((await acks.next()).done).toBe(true);
  });
});

describe("query", () => {
  test("rows have no bodies, a single log has them", async () => {
    await append(record("a"));
    const answer = await query();
    expect(answer).toMatchObject({ object: "list", next_cursor: null, has_more: false });
    const [row] = "data" in answer ? answer.data : [];
    expect(row).toMatchObject({ id: "a", schema_version: 1 });
    expect(row).not.toHaveProperty("request");
    expect(row).not.toHaveProperty("response");
    expect(await get("a")).toMatchObject({ id: "a", request: { body: { text: "ask a" } }, response: { body: { text: "answer a" } } });
  });

  test("pages through everything once, also while records come", async () => {
    const ids = Array.from({ length: 45 }, (_, index) => String(index).padStart(3, "0"));
    await append(...ids.map((id, index) => record(id, { time: 1_000 + Math.floor(index / 4) })));
    const seen: unknown[] = [];
    let cursor = "";
    for (let page = 0; page < 3; page++) {
      const answer = await query({ cursor });
      if (!("data" in answer)) throw new Error(answer.message);
      seen.push(...answer.data.map((row) => row["id"]));
      expect(answer.has_more).toBe(page < 2);
      cursor = answer.next_cursor ?? "";
      await append(record(`new${page}`, { time: 5_000 }));
    }
    expect(cursor).toBe("");
    expect(seen).toEqual(ids.toReversed());
  });

  test.each([
    [{ trace_id: "t1" }, ["a"]],
    [{ provider: "openai" }, ["b", "a"]],
    [{ provider: "main" }, ["b"]],
    [{ model: "gpt" }, ["c", "a"]],
    [{ status: 429 }, ["b"]],
    [{ status: "429" }, ["b"]],
    [{ api_key_id: "k" }, ["c"]],
    [{ provider: "openai", status: 200 }, ["a"]],
    [{ model: "none" }, []],
    [{}, ["c", "b", "a"]],
  ])("filters by %j", async (filter, expected) => {
    await append(
      record("a", { trace_id: "t1", provider: "openai", model: "gpt", status: 200 }),
      record("b", { provider: "openai", provider_slug: "main", status: 429 }),
      record("c", { provider: "anthropic", model: "claude", response_model: "gpt", api_key_id: "k", status: 200 }),
    );
    expect(await idsOf({}, filter)).toEqual(expected);
  });

  test("the time range takes its start and not its end", async () => {
    await append(...[10, 20, 30].map((time) => record(String(time), { time })));
    expect(await idsOf({ from: 20, to: 30 })).toEqual(["20"]);
    expect(await idsOf({ from: 20 })).toEqual(["30", "20"]);
    expect(await idsOf({ to: 20 })).toEqual(["10"]);
  });

  test("walls: a workspace sees its own, an organisation its workspaces, nobody another organisation", async () => {
    await append(
      record("a"),
      record("b", { workspace_id: "other" }),
      record("c", { organisation_id: "acme" }),
      record("d", { organisation_id: "", workspace_id: "" }),
    );
    expect(await idsOf()).toEqual(["a"]);
    expect(await idsOf({ tenant: { organisationId: "org", workspaceId: "" } })).toEqual(["b", "a"]);
    expect(await idsOf({ tenant: { organisationId: "acme", workspaceId: "ws" } })).toEqual(["c"]);
    for (const id of ["b", "c", "d", "none"]) expect(await get(id)).toMatchObject({ code: "not_found", status: 404 });
    for (const tenant of [undefined, { organisationId: "", workspaceId: "" }]) {
      expect(await query({ tenant })).toMatchObject({ code: "invalid_request" });
      expect(await get("d", tenant)).toMatchObject({ code: "not_found" });
    }
  });

  test.each([
    ["limit", { limit: 101 }, null],
    ["cursor", { cursor: "!!" }, null],
    ["cursor", { cursor: Buffer.from("x:1").toString("base64url") }, null],
    ["user", {}, { user: "x" }],
    ["status", {}, { status: "many" }],
    ["model", {}, { model: 5 }],
  ])("refuses a bad %s", async (param, more, filter) => {
    expect(await query(more, filter)).toMatchObject({ code: "invalid_request", status: 400, param });
  });

  test("refuses a filter that is no JSON", async () => {
    expect(await query({ filterJson: Buffer.from("{") })).toMatchObject({ param: "filter" });
  });

  test("a body that was wrongly said to be JSON does not break the answer", async () => {
    const head = { ...newHead("a", 1), organisation_id: "org", workspace_id: "ws" };
    await append(
      encodeRecord({ head, request: { headers: null, body: Buffer.from("{oops"), json: true, truncated: false }, response: null }),
    );
    expect(await get("a")).toMatchObject({ id: "a", request: null });
  });
});
