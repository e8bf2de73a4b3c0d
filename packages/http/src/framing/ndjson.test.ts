import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameTooLargeError } from "./complete-lines.ts";
import { createNdjsonParser } from "./ndjson.ts";

function read(chunks: readonly Buffer[], maxBytes?: number): { lines: string[]; whole: boolean } {
  const lines: string[] = [];
  const parser = createNdjsonParser((text) => lines.push(text), maxBytes);
  for (const chunk of chunks) parser.push(chunk);
  const whole = parser.end();
  return { lines, whole };
}

describe("reading lines of JSON", () => {
  test.each([
    ["two lines", '{"a":1}\n{"a":2}\n', ['{"a":1}', '{"a":2}'], true],
    ["with carriage returns", '{"a":1}\r\n{"a":2}\r\n', ['{"a":1}', '{"a":2}'], true],
    ["blank lines", '\n \n{"a":1}\n\r\n\n', ['{"a":1}'], true],
    ["no last break", '{"a":1}\n{"a":2}', ['{"a":1}', '{"a":2}'], false],
    ["a blank rest", '{"a":1}\n  ', ['{"a":1}'], true],
    ["a byte order mark", '\uFEFF{"a":1}\n', ['{"a":1}'], true],
    ["characters of several bytes", '{"a":"é😀\u2028"}\n', ['{"a":"é😀\u2028"}'], true],
    ["a carriage return inside", '{"a":\r1}\n', ['{"a":\r1}'], true],
    ["nothing", "", [], true],
  ])("%s, at every split", (_what, text, lines, whole) => {
    const bytes = Buffer.from(text);
    expect(read([bytes])).toEqual({ lines, whole });
    for (let at = 0; at <= bytes.length; at++) expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual({ lines, whole });
  });

  test("any values in any pieces", () => {
    fc.assert(
      fc.property(fc.array(fc.json()), fc.array(fc.nat(300), { maxLength: 8 }), fc.boolean(), (values, places, ended) => {
        const bytes = Buffer.from(values.join("\n") + (ended ? "\n" : ""));
        const cuts = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const chunks = cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
        expect(read(chunks).lines).toEqual(values);
      }),
    );
  });

  test("malformed UTF-8 does not throw", () => {
    expect(read([Buffer.from([0xff, 0xc3, 0x0a, 0xf0])])).toEqual({ lines: ["\uFFFD\uFFFD", "\uFFFD"], whole: false });
  });

  test("a line past the bound throws, whatever the split", () => {
    for (const length of [9, 10, 11]) {
      const bytes = Buffer.from(`${"x".repeat(length)}\n`);
      for (let at = 0; at <= bytes.length; at++) {
        const parse = () => read([bytes.subarray(0, at), bytes.subarray(at)], 10);
        if (length > 10) expect(parse).toThrow(FrameTooLargeError);
        else expect(parse().lines).toHaveLength(1);
      }
    }
  });
});
