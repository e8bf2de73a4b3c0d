import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameTooLargeError } from "./complete-lines.ts";
import { createSseParser, encodeSse, sseComment } from "./sse.ts";

type Event = [name: string, data: string];

interface Reading {
  events: Event[];
  comments: number;
  whole: boolean;
}

function read(chunks: readonly Buffer[], maxBytes?: number): Reading {
  const events: Event[] = [];
  const parser = createSseParser((name, data) => events.push([name, data]), maxBytes);
  for (const chunk of chunks) parser.push(chunk);
  const whole = parser.end();
  return { events, comments: parser.comments, whole };
}

/** A second reading of the rules, as plain as can be: the whole text at once. */
function readPlainly(bytes: Buffer): Reading {
  const lines = bytes
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\r|\n/);
  const last = lines.pop() ?? "";
  if (last !== "") lines.push(last);
  const reading: Reading = { events: [], comments: 0, whole: true };
  let name = "";
  let data: string[] = [];
  for (const line of lines) {
    if (line === "") {
      if (data.length > 0) reading.events.push([name, data.join("\n")]);
      name = "";
      data = [];
    } else if (line.startsWith(":")) reading.comments += 1;
    else {
      const [, field = "", value = ""] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? [];
      if (field === "data") data.push(value);
      if (field === "event") name = value;
    }
  }
  reading.whole = data.length === 0;
  if (data.length > 0) reading.events.push([name, data.join("\n")]);
  return reading;
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

const piece = fc.constantFrom<(string | number[])[]>(
  "data:",
  "data: ",
  "data",
  "event: ping",
  "event:",
  "id: 7",
  "retry: 10",
  ": comment",
  ":",
  " ",
  "x",
  '{"a":"é😀"}',
  "\uFEFF",
  "\n",
  "\n\n",
  "\r\n",
  "\r\n\r\n",
  "\r",
  "\0",
  [0xff],
  [0xe2, 0x82],
  [0xf0],
  [0xc3, 0x28],
);
const stream = fc.array(piece, { maxLength: 40 }).map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part as string))));

describe("reading events", () => {
  test.each<[what: string, text: string, events: Event[], more?: Partial<Reading>]>([
    ["one data line", 'data: {"a":1}\n\n', [["", '{"a":1}']]],
    ["no space after the colon", "data:x\n\n", [["", "x"]]],
    ["only one space is dropped", "data:  x\n\n", [["", " x"]]],
    ["a name", "event: message_stop\ndata: {}\n\n", [["message_stop", "{}"]]],
    ["the name after the data", "data: {}\nevent: late\n\n", [["late", "{}"]]],
    [
      "a name does not last",
      "event: a\ndata: 1\n\ndata: 2\n\n",
      [
        ["a", "1"],
        ["", "2"],
      ],
    ],
    ["a name without data is no event", "event: a\n\ndata: 2\n\n", [["", "2"]]],
    [
      "carriage return and line feed",
      "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n",
      [
        ["a", "1"],
        ["", "2"],
      ],
    ],
    [
      "lone carriage returns",
      "event: a\rdata: 1\r\rdata: 2\r\r",
      [
        ["a", "1"],
        ["", "2"],
      ],
    ],
    [
      "mixed breaks",
      "data: 1\n\r\ndata: 2\r\rdata: 3\r\n\n",
      [
        ["", "1"],
        ["", "2"],
        ["", "3"],
      ],
    ],
    ["several data lines", "data: a\ndata:\ndata: b\n\n", [["", "a\n\nb"]]],
    ["an empty data line is an event", "data:\n\n", [["", ""]]],
    ["a field without a colon", "data\n\n", [["", ""]]],
    ["other fields", "id: 1\nretry: 5\nunknown: x\ndatax: y\ndata: 1\n\n", [["", "1"]]],
    ["comments", ": OPENROUTER PROCESSING\n\n:\ndata: 1\n: between\n\n", [["", "1"]], { comments: 3 }],
    ["a byte order mark", "\uFEFFdata: 1\n\n", [["", "1"]]],
    ["a second byte order mark is no mark", "data: 1\n\n\uFEFFdata: 2\n\n", [["", "1"]]],
    ["many blank lines", "\n\n\ndata: 1\n\n\n\n", [["", "1"]]],
    [
      "the end without a blank line",
      "data: 1\n\ndata: [DONE]\n",
      [
        ["", "1"],
        ["", "[DONE]"],
      ],
      { whole: false },
    ],
    [
      "the end without a line break",
      "data: 1\n\ndata: [DONE]",
      [
        ["", "1"],
        ["", "[DONE]"],
      ],
      { whole: false },
    ],
    ["the end inside a comment", "data: 1\n\n: bye", [["", "1"]], { comments: 1 }],
    ["nothing", "", []],
  ])("%s", (_what, text, events, more = {}) => {
    const expected = { events, comments: 0, whole: true, ...more };
    const bytes = Buffer.from(text);
    expect(read([bytes])).toEqual(expected);
    for (let at = 0; at <= bytes.length; at++) expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected);
    expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(expected);
  });

  test("any bytes in any pieces give what the plain reading gives", () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 12 }), (bytes, places) => {
        expect(read(cutAt(bytes, places))).toEqual(readPlainly(bytes));
      }),
      { numRuns: 3000 },
    );
  });

  test("short streams give the same events at every split in two", () => {
    fc.assert(
      fc.property(stream, (bytes) => {
        const expected = readPlainly(bytes);
        for (let at = 0; at <= bytes.length; at++) expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  test("arbitrary bytes never throw", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat(300), { maxLength: 5 }), (array, places) => {
        const bytes = Buffer.from(array);
        expect(read(cutAt(bytes, places))).toEqual(readPlainly(bytes));
      }),
    );
  });

  test("a chunk may be overwritten after it was pushed", () => {
    const events: Event[] = [];
    const parser = createSseParser((name, data) => events.push([name, data]));
    const chunk = Buffer.from("event: a\ndata: part");
    parser.push(chunk);
    chunk.fill(0x21);
    parser.push(Buffer.from("ial\n\n"));
    expect(events).toEqual([["a", "partial"]]);
  });

  test("a long event in small reads is read once", () => {
    const text = "y".repeat(12_000_000);
    const bytes = Buffer.from(`data: ${text}\n\n`);
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 1000) chunks.push(bytes.subarray(at, at + 1000));
    const started = performance.now();
    expect(read(chunks).events).toEqual([["", text]]);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe("the bound of an event", () => {
  test("is the same for every split", () => {
    fc.assert(
      fc.property(fc.nat(30), fc.nat(30), fc.array(fc.nat(100), { maxLength: 6 }), (first, second, places) => {
        const bytes = Buffer.from(`data: 1\n\ndata:${"x".repeat(first)}\ndata:${"y".repeat(second)}\n\ndata: 2\n\n`);
        const size = 5 + first + 5 + second;
        const parse = () => read(cutAt(bytes, places), 40).events;
        if (size > 40) expect(parse).toThrow(FrameTooLargeError);
        else expect(parse()).toHaveLength(3);
      }),
    );
  });

  test("ends a line that never ends", () => {
    const parser = createSseParser(() => {}, 1000);
    const push = () => {
      for (let count = 0; count < 1000; count++) parser.push(Buffer.from("data: and so on"));
    };
    expect(push).toThrow(new FrameTooLargeError(1000));
  });

  test("counts an event, not the stream, and no comments", () => {
    const chunks = Array.from({ length: 500 }, () => Buffer.from("data: 123\n\n: heartbeat\n"));
    expect(read(chunks, 20)).toMatchObject({ comments: 500 });
  });

  test("is 16 MiB by default", () => {
    const half = Buffer.from(`data: ${"x".repeat(8 * 1024 * 1024)}\n`);
    expect(() => read([half, half])).toThrow("16777216");
    expect(read([half, Buffer.from("\n"), half]).events).toHaveLength(2);
  });
});

describe("writing events", () => {
  test.each([
    ["", "[DONE]", "data: [DONE]\n\n"],
    ["error", "{}", "event: error\ndata: {}\n\n"],
    ["", "a\nb\r\nc\rd", "data: a\ndata: b\ndata: c\ndata: d\n\n"],
    ["two\nlines", "x", "event: two lines\ndata: x\n\n"],
  ])("%j %j", (name, data, text) => expect(encodeSse(name, data)).toBe(text));

  test("a comment", () => {
    expect(sseComment("keep-alive")).toBe(": keep-alive\n\n");
    expect(sseComment("a\r\nb")).toBe(": a b\n\n");
  });

  test("what is written is read again, breaks as line feeds", () => {
    const word = fc.string({ unit: "grapheme" }).map((text) => text.replace(/[\r\n]/g, ""));
    fc.assert(
      fc.property(word, fc.array(word), (name, lines) => {
        const data = lines.join("\n");
        const text = sseComment("hello") + encodeSse(name, data);
        expect(read([Buffer.from(text)])).toEqual({ events: [[name, data]], comments: 1, whole: true });
      }),
    );
  });
});
