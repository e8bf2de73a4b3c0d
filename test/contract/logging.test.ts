import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AppendBatch, LoggingDefinition, type LoggingPort, type LogQuery } from "@unigate/contracts";
import { backgroundCall } from "@unigate/core";
import { encodeRecord, type LogDraft, newHead } from "@unigate/events";
import { createLoggingService, createLogStore } from "@unigate/logging";
import { appendDelivery, createSpool } from "@unigate/spool";
import { type Connection, removeFolder, runners } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const TENANT = { organisationId: "org", workspaceId: "ws" };

function draft(id: string, time = 1_000): LogDraft {
  const head = { ...newHead(id, time), organisation_id: "org", workspace_id: "ws", provider: "openai" };
  const body = Buffer.from(JSON.stringify({ ask: id }));
  return { head, request: { headers: { "content-type": "application/json" }, body, json: true, truncated: false }, response: null };
}

describe.each(runners)("logging over $name", ({ connect }) => {
  let connection: Connection<typeof LoggingDefinition>;
  let logging: LoggingPort;

  beforeEach(async () => {
    connection = await connect(LoggingDefinition, createLoggingService({ store: createLogStore(), log: { warn() {} } }));
    logging = connection.port;
  });
  afterEach(() => connection.close());

  async function list(more: Partial<LogQuery> = {}) {
    const query: LogQuery = { tenant: TENANT, from: 0, to: 0, filterJson: Buffer.alloc(0), cursor: "", limit: 0, ...more };
    const { json, nextCursor, failure } = await logging.queryLogs(query, backgroundCall());
    return {
      ids: failure === undefined ? (JSON.parse(json.toString()) as { data: { id: string }[] }).data.map(({ id }) => id) : [],
      nextCursor,
      failure,
    };
  }

  test("each batch is acknowledged, and only once it is stored", async () => {
    async function* batches(): AsyncGenerator<AppendBatch> {
      yield { spoolId: "s", offset: 2, records: ["a", "b"].map((id) => encodeRecord(draft(id))) };
      yield { spoolId: "s", offset: 4, records: [encodeRecord(draft("b")), Buffer.from("no record")] };
    }
    const offsets: number[] = [];
    const stored: string[][] = [];
    for await (const ack of logging.append(batches(), backgroundCall())) {
      expect(ack.spoolId).toBe("s");
      offsets.push(ack.offset);
      stored.push((await list()).ids);
    }
    expect(offsets).toEqual([2, 4]);
    expect(stored.map((ids) => ids.toSorted())).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
  });

  test("what a spool was offered can be queried, and found with its body", async () => {
    const dir = mkdtempSync(join(tmpdir(), "unigate-logging-"));
    const delivery = appendDelivery(logging.append);
    const spool = createSpool({ dir, deliver: delivery.deliver, log: { info() {}, warn() {} } });
    for (let index = 0; index < 500; index++) spool.offer(draft(String(index), 1_000 + index));
    expect(await spool.flush(Date.now() + 10_000)).toBe(0);
    const first = await list();
    expect(first.ids).toEqual(Array.from({ length: 20 }, (_, index) => String(499 - index)));
    expect((await list({ cursor: first.nextCursor })).ids[0]).toBe("479");
    const log = await logging.getLog({ tenant: TENANT, id: "7" }, backgroundCall());
    expect(JSON.parse(log.json.toString())).toMatchObject({ id: "7", provider: "openai", request: { body: { ask: "7" } }, response: null });
    await spool.close();
    await delivery.close();
    removeFolder(dir);
    expect(spool.stats()).toMatchObject({ stored: 500, dropped: 0 });
  });

  test("failures are values", async () => {
    expect((await list({ limit: 500 })).failure).toMatchObject({ code: "invalid_request", param: "limit", status: 400 });
    const log = await logging.getLog({ tenant: TENANT, id: "none" }, backgroundCall());
    expect(log.failure).toMatchObject({ code: "not_found", status: 404 });
  });
});
