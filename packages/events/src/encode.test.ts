import { emptyUsage, MAX_JSON_DEPTH } from "@unigate/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_BODY_BYTES } from "./body.ts";
import { cutMessage, cutMetadata, type DraftMessage, type LogDraft, newHead, usageOfRecord } from "./draft.ts";
import { encodeRecord, withoutBodies } from "./encode.ts";
import { MAX_RECORD_DEPTH, readRecord } from "./read.ts";
import { type LogRecord, logRecordSchema } from "./record.ts";

const head = () => newHead("0190a5e0-0000-7000-8000-000000000001", 1_700_000_000_000);

function message(body: Buffer | null, json: boolean): DraftMessage {
  return { headers: { "content-type": "application/json" }, body, json, truncated: false };
}

function decoded(draft: LogDraft): LogRecord {
  return JSON.parse(encodeRecord(draft).toString("utf8")) as LogRecord;
}

describe("encodeRecord", () => {
  test("writes what the schema takes, with JSON bodies as they came", () => {
    const raw = '{ "b" : 1, "a": [ 1.0 ] }';
    const bytes = encodeRecord({ head: head(), request: message(Buffer.from(raw), true), response: null });
    expect(bytes.toString("utf8")).toContain(`"body":${raw}`);
    const record = logRecordSchema.parse(JSON.parse(bytes.toString("utf8")));
    expect(record.request).toEqual({ headers: { "content-type": "application/json" }, body: { b: 1, a: [1] }, truncated: false });
    expect(record.response).toBeNull();
  });

  test("any JSON body comes back equal", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (request, response) => {
        const body = (value: unknown) => message(Buffer.from(JSON.stringify(value)), true);
        const record = decoded({ head: head(), request: body(request), response: body(response) });
        expect(JSON.stringify(record.request?.body)).toBe(JSON.stringify(request));
        expect(JSON.stringify(record.response?.body)).toBe(JSON.stringify(response));
      }),
      { numRuns: 100 },
    );
  });

  test("any other bytes become text that is valid JSON and not longer than the bound", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.integer({ min: 0, max: 2_000 }), (array, repeat) => {
        const body = Buffer.concat(Array.from({ length: repeat }, () => Buffer.from(array)));
        const record = decoded({ head: head(), request: message(body, false), response: null });
        const text = record.request?.body ?? "";
        expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThanOrEqual(MAX_BODY_BYTES);
        if (record.request?.truncated === false) expect(text).toBe(body.toString("utf8"));
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ["JSON", true, Buffer.from(JSON.stringify("é".repeat(MAX_BODY_BYTES)))],
    ["text that escapes to six times its length", false, Buffer.alloc(MAX_BODY_BYTES, 1)],
  ])("cuts %s that is too long and says so", (_case, json, body) => {
    const record = decoded({ head: head(), request: message(body, json), response: null });
    expect(record.request?.truncated).toBe(true);
    const size = Buffer.byteLength(JSON.stringify(record.request?.body));
    expect(size).toBeLessThanOrEqual(MAX_BODY_BYTES);
    expect(size).toBeGreaterThan(MAX_BODY_BYTES / 2);
    expect(record.request?.body).not.toContain("\uFFFD");
  });

  test("the beginning of a JSON body is text", () => {
    const record = decoded({
      head: head(),
      request: { headers: null, body: Buffer.from('{"a":'), json: true, truncated: true },
      response: null,
    });
    expect(record.request).toEqual({ headers: null, body: '{"a":', truncated: true });
  });

  test("a record always fits 1 MiB: an open-ended head loses its open-ended fields", () => {
    const large = { ...head(), decision: { why: "x".repeat(900_000) }, hook_results: "y".repeat(900_000) };
    const body = message(Buffer.alloc(2_000_000, "\n"), false);
    const bytes = encodeRecord({ head: large, request: body, response: body });
    expect(bytes.length).toBeLessThan(1024 * 1024);
    expect(logRecordSchema.parse(JSON.parse(bytes.toString("utf8")))).toMatchObject({ decision: null, hook_results: null });
  });
});

describe("readRecord", () => {
  const draft: LogDraft = { head: head(), request: message(Buffer.from('{"a":1}'), true), response: message(Buffer.from("text"), false) };

  function read(bytes: Buffer) {
    const result = readRecord(bytes);
    if (!result.ok) throw new Error(result.detail);
    return result.record;
  }

  test("bytes of this process are not parsed, foreign ones give the same", () => {
    const own = encodeRecord(draft);
    const foreign = read(Buffer.from(own));
    const fresh = read(own);
    expect(fresh.bytes).toBe(own);
    expect(fresh.head).toBe(draft.head);
    expect(foreign.head).toEqual(draft.head);
    expect(foreign.headEnd).toBe(fresh.headEnd);
    expect(foreign.bytes.equals(own)).toBe(true);
    expect(JSON.parse(`${own.toString("utf8", 0, fresh.headEnd)}}`)).toEqual(draft.head);
  });

  test("fields of a newer writer are kept", () => {
    const json = {
      ...JSON.parse(encodeRecord(draft).toString("utf8")),
      newer: { field: 1 },
      timings: { ...draft.head.timings, newer_ms: 1 },
    };
    expect(JSON.parse(read(Buffer.from(JSON.stringify(json))).bytes.toString("utf8"))).toEqual(json);
  });

  test("bodies can be dropped", () => {
    const { bytes, headEnd } = read(encodeRecord(draft));
    expect(JSON.parse(withoutBodies(bytes, headEnd).toString("utf8"))).toEqual({
      ...draft.head,
      request: { headers: null, body: null, truncated: true },
      response: { headers: null, body: null, truncated: true },
    });
  });

  const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  const withBody = (body: string) => {
    const record = { ...json(), request: { headers: null, body: "@", truncated: false } };
    return Buffer.from(JSON.stringify(record).replace('"@"', body));
  };

  test("a body is read as deep as a gateway lets it through", () => {
    const bytes = withBody(deep(MAX_JSON_DEPTH));
    expect(JSON.parse(read(bytes).bytes.toString("utf8"))).toEqual(JSON.parse(bytes.toString("utf8")));
  });

  const json = () => JSON.parse(encodeRecord(draft).toString("utf8")) as Record<string, unknown>;
  test.each([
    ["no JSON", Buffer.from("{"), "invalid_json"],
    ["an array", Buffer.from("[]"), "invalid_json"],
    ["nothing", Buffer.alloc(0), "invalid_json"],
    ["another version", Buffer.from(JSON.stringify({ ...json(), schema_version: 2 })), "unknown_schema_version"],
    ["no version", Buffer.from("{}"), "unknown_schema_version"],
    ["a missing field", Buffer.from(JSON.stringify({ ...json(), trace_id: undefined })), "invalid_record"],
    ["an unknown outcome", Buffer.from(JSON.stringify({ ...json(), outcome: "so-so" })), "invalid_record"],
    ["too many bytes", Buffer.alloc(3 * 1024 * 1024, " "), "too_large"],
    ["a body nested too deep", withBody(deep(MAX_RECORD_DEPTH)), "invalid_record"],
    ["a body nested beyond reason", withBody(deep(200_000)), "invalid_record"],
  ])("refuses %s", (_case, bytes, reason) => {
    expect(readRecord(bytes)).toMatchObject({ ok: false, reason });
  });
});

describe("draft", () => {
  test("metadata values are cut at 128 characters, others left alone", () => {
    const short = { team: "web" };
    expect(cutMetadata(short)).toBe(short);
    expect(cutMetadata({ team: "web", note: "x".repeat(200) })).toEqual({ team: "web", note: "x".repeat(128) });
  });

  test("an error message is cut at 2,000 characters", () => {
    expect(cutMessage("short")).toBe("short");
    expect(cutMessage("x".repeat(5_000))).toHaveLength(2_000);
  });

  test("a usage is written in the record's words", () => {
    expect(usageOfRecord(null)).toBeNull();
    const usage = { ...emptyUsage(), input: 3, cacheWrite5m: 2, outputText: 5 };
    expect(logRecordSchema.shape.usage.parse(usageOfRecord(usage))).toMatchObject({ input: 3, cache_write_5m: 2, output_text: 5 });
  });

  test("a new head holds every field of the schema, in its order", () => {
    expect(Object.keys(head())).toEqual(Object.keys(logRecordSchema.shape).slice(0, -2));
  });
});
