import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type EncodedRecord, encodeRecord, newHead, readRecord } from "@unigate/events";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { bodiesMessageSchema, logMessageSchema } from "./message-schema.ts";
import { BODIES_EVENT_TYPE, deadMessage, EVENT_SOURCE, LOG_EVENT_TYPE, messagesOf, SPANS_EVENT_TYPE, spansMessageOf } from "./messages.ts";
import { readBodiesMessage, readLogMessage } from "./read-message.ts";
import { topicsOf } from "./topics.ts";

const EVENTS = new URL("../../../proto/events/", import.meta.url);
const topics = topicsOf("unigate");

const kinds = {
  logs: { title: "Log record without its bodies", schema: logMessageSchema },
  bodies: { title: "Bodies of a log record", schema: bodiesMessageSchema },
} as const;

function fileOf(kind: keyof typeof kinds): string {
  return fileURLToPath(new URL(`gen/unigate.${kind}.v1.schema.json`, EVENTS));
}

function validator(kind: keyof typeof kinds): (value: unknown) => boolean {
  return new Ajv2020({ strict: false }).compile(JSON.parse(readFileSync(fileOf(kind), "utf8")) as object) as (value: unknown) => boolean;
}

function record(body: string | null, more: object = {}): EncodedRecord {
  const head = { ...newHead("0190a5e0-0000-7000-8000-000000000001", 1_700_000_000_000), trace_id: "t", ...more };
  const request = body === null ? null : { headers: { a: "b" }, body: Buffer.from(body), json: true, truncated: false };
  const read = readRecord(encodeRecord({ head, request, response: null }));
  if (!read.ok) throw new Error(read.detail);
  return read.record;
}

const textOf = (headers: Readonly<Record<string, string | Buffer>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

describe.each(["logs", "bodies"] as const)("the schema of %s", (kind) => {
  test("is what the code makes of it; vitest -u writes it", async () => {
    const { title, schema } = kinds[kind];
    const json = z.toJSONSchema(schema, { io: "input" });
    await expect(`${JSON.stringify({ ...json, $id: `unigate.${kind}.v1.schema.json`, title }, null, 2)}\n`).toMatchFileSnapshot(
      fileOf(kind),
    );
  });

  test("takes what is produced, and fields of newer writers, and refuses other things", () => {
    const validate = validator(kind);
    const produced = [record(null), record('{"a":[1]}'), record('"text"', { status: 429, decision: { why: "x" } })]
      .flatMap((one) => messagesOf(one, topics))
      .filter(({ topic }) => topic === topics[kind])
      .map(({ value }) => JSON.parse(value.toString("utf8")) as Record<string, unknown>);
    expect(produced.length).toBe(kind === "logs" ? 3 : 2);
    for (const value of produced) {
      expect(validate(value)).toBe(true);
      expect(validate({ ...value, newer: 1 })).toBe(true);
      expect(validate({ ...value, schema_version: 2 })).toBe(false);
      expect(validate({ ...value, id: undefined, time: "now" })).toBe(false);
    }
  });
});

test("a record comes back from its messages", () => {
  const whole = record('{ "a": [1] }');
  const [bodies, log] = messagesOf(whole, topics);
  const readLog = readLogMessage(log?.value ?? null);
  const readBodies = readBodiesMessage(bodies?.value ?? null);
  expect(readLog).toMatchObject({ ok: true, bodiesApart: true, record: { head: whole.head } });
  expect(readBodies).toMatchObject({ ok: true, bodies: { id: whole.head.id, time: whole.head.time } });
  if (!readLog.ok || !readBodies.ok) throw new Error("refused");
  const { bytes, headEnd } = readLog.record;
  const joined = JSON.parse(bytes.toString("utf8", 0, headEnd) + readBodies.bodies.tail) as unknown;
  expect(joined).toEqual(JSON.parse(whole.bytes.toString("utf8")));
});

test("a record without bodies is one whole message, whatever its metadata is called", () => {
  const [log, ...rest] = messagesOf(record(null, { metadata: { request: "x" } }), topics);
  expect(rest).toEqual([]);
  expect(readLogMessage(log?.value ?? null)).toMatchObject({
    ok: true,
    bodiesApart: false,
    record: { head: { metadata: { request: "x" } } },
  });
});

test.each([
  ["nothing", null, "invalid_json"],
  ["no JSON", "{", "invalid_json"],
  ["no object", "[]", "invalid_json"],
  ["another version", '{"schema_version":2}', "unknown_schema_version"],
  ["nothing in it", "{}", "unknown_schema_version"],
  ["no version", '{"id":"a"}', "unknown_schema_version"],
  ["no id", '{"schema_version":1}', "invalid_record"],
  ["too much", " ".repeat(2 * 1024 * 1024 + 1), "too_large"],
])("%s is refused", (_case, text, reason) => {
  const value = text === null ? null : Buffer.from(text);
  expect(readLogMessage(value)).toMatchObject({ ok: false, reason });
  expect(readBodiesMessage(value)).toMatchObject({ ok: false, reason });
});

test("bodies nested beyond reason are refused", () => {
  const [bodies] = messagesOf(record('"@"'), topics);
  const text = bodies?.value.toString("utf8").replace('"@"', `${"[".repeat(200_000)}${"]".repeat(200_000)}`) ?? "";
  expect(readBodiesMessage(Buffer.from(text))).toMatchObject({ ok: false, reason: "invalid_record" });
});

interface AsyncApi {
  readonly asyncapi: string;
  readonly channels: Readonly<
    Record<string, { readonly address: string; readonly messages: Readonly<Record<string, { readonly $ref: string }>> }>
  >;
  readonly operations: Readonly<Record<string, { readonly action: string; readonly channel: { readonly $ref: string } }>>;
  readonly components: {
    readonly messages: Readonly<
      Record<string, { readonly headers: object; readonly payload: { readonly schema?: { readonly $ref: string } } }>
    >;
  };
}

describe("asyncapi.yaml", () => {
  const document = parse(readFileSync(new URL("asyncapi.yaml", EVENTS), "utf8")) as AsyncApi;

  test("names the topics and the schemas", () => {
    expect(document.asyncapi).toBe("3.0.0");
    expect(Object.fromEntries(Object.entries(document.channels).map(([name, { address }]) => [name, address]))).toEqual(topics);
    for (const { channel } of Object.values(document.operations))
      expect(document.channels).toHaveProperty(channel.$ref.replace("#/channels/", ""));
    for (const kind of ["logs", "bodies"] as const) {
      expect(document.components.messages[kind]?.payload.schema?.$ref).toBe(`./gen/unigate.${kind}.v1.schema.json`);
      expect(document.channels[kind]?.messages[kind]?.$ref).toBe(`#/components/messages/${kind}`);
    }
  });

  test("its headers are those that are produced", () => {
    const ajv = new Ajv2020({ strict: false });
    const [bodies, logs] = messagesOf(record("1"), topics);
    const place = { topic: topics.logs, partition: 1, offset: "5", key: null, value: null };
    const dead = deadMessage({ ...place, headers: logs?.headers ?? {}, reason: "invalid_json", detail: "d" }, topics);
    const traces = spansMessageOf(record(null, { sampled: true, last: true }), topics);
    for (const [kind, message] of Object.entries({ logs, bodies, traces, dead })) {
      const validate = ajv.compile(document.components.messages[kind]?.headers ?? { not: {} });
      expect(validate(textOf(message?.headers ?? {})), JSON.stringify(validate.errors)).toBe(true);
      expect(validate({})).toBe(false);
    }
    expect(textOf(logs?.headers ?? {})).toEqual({
      ce_specversion: "1.0",
      ce_id: "0190a5e0-0000-7000-8000-000000000001",
      ce_type: LOG_EVENT_TYPE,
      ce_source: EVENT_SOURCE,
      ce_time: "2023-11-14T22:13:20.000Z",
      "content-type": "application/json",
    });
    expect(textOf(traces?.headers ?? {})).toMatchObject({
      ce_id: "0190a5e0-0000-7000-8000-000000000001/spans",
      ce_type: SPANS_EVENT_TYPE,
    });
    expect(textOf(bodies?.headers ?? {})).toMatchObject({
      ce_id: "0190a5e0-0000-7000-8000-000000000001/bodies",
      ce_type: BODIES_EVENT_TYPE,
    });
  });
});
