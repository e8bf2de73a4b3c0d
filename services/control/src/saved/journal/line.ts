import { crc32 } from "node:zlib";
import { isObject } from "@unigate/core";
import { z } from "zod";
import { rowOfStored, storedRowOf, thingSchema } from "../row-json.ts";
import type { SavedChange, SavedRow } from "../types.ts";

// A line is one JSON object. Its first field is the CRC-32 of all that comes after that field, so that a line that was
// changed by anything but this program is known: {"crc":"1c291ca3","seq":7,"changes":[...]}

/** Version of what lines mean. A program meets a greater one only in a newer program's file, and refuses it. */
export const JOURNAL_FORMAT = 1;

/** One line of a journal, or of what is exported. */
export type Line =
  /** The first one: which master key seals the secrets, and the number of the last change in what follows it. */
  | { readonly kind: "header"; readonly format: number; readonly masterKey: string; readonly seq: number }
  /** A thing as it stands. */
  | { readonly kind: "row"; readonly row: SavedRow }
  /** A config as it was. */
  | { readonly kind: "former"; readonly row: SavedRow }
  /** One write; `seq` is the number of its last change. */
  | { readonly kind: "write"; readonly seq: number; readonly changes: readonly SavedChange[] };

const PREFIX = /^\{"crc":"([0-9a-f]{8})",/;
const PREFIX_BYTES = '{"crc":"12345678",'.length;

export function textOfLine(line: Line): string {
  const body = JSON.stringify(bodyOf(line)).slice(1);
  return `{"crc":"${checksum(body)}",${body}\n`;
}

export function* textsOf(lines: Iterable<Line>): Generator<string> {
  for (const line of lines) yield textOfLine(line);
}

function bodyOf(line: Line): object {
  switch (line.kind) {
    case "header":
      return { control_journal: line.format, master_key: line.masterKey, seq: line.seq };
    case "row":
      return { row: storedRowOf(line.row) };
    case "former":
      return { former: storedRowOf(line.row) };
    case "write":
      return {
        seq: line.seq,
        changes: line.changes.map((change) => ("put" in change ? { put: storedRowOf(change.put) } : { remove: thingOf(change.remove) })),
      };
  }
}

function thingOf({ kind, id, version }: Pick<SavedRow, "kind" | "id" | "version">): object {
  return { kind, id, version };
}

const header = z.object({ control_journal: z.int(), master_key: z.string(), seq: z.int() });
const write = z.object({
  seq: z.int(),
  changes: z.array(z.union([z.object({ put: z.unknown() }).required(), z.object({ remove: thingSchema })])),
});

/** The line that these bytes (without the line break) are; null when they are none, or were changed. */
export function readLine(bytes: Buffer): Line | null {
  const found = PREFIX.exec(bytes.toString("latin1", 0, PREFIX_BYTES));
  if (found === null || found[1] !== checksum(bytes.subarray(PREFIX_BYTES))) return null;
  try {
    return lineOf(JSON.parse(bytes.toString("utf8")));
  } catch {
    return null;
  }
}

function lineOf(json: unknown): Line | null {
  if (!isObject(json)) return null;
  if ("row" in json) return { kind: "row", row: rowOfStored(json["row"]) };
  if ("former" in json) return { kind: "former", row: rowOfStored(json["former"]) };
  if ("changes" in json) {
    const { seq, changes } = write.parse(json);
    return { kind: "write", seq, changes: changes.map((change) => ("put" in change ? { put: rowOfStored(change.put) } : change)) };
  }
  const { control_journal: format, master_key: masterKey, seq } = header.parse(json);
  return { kind: "header", format, masterKey, seq };
}

/** Where each line begins and ends, the line break left out. What comes after the last one is a line too, unless it is empty. */
export function* linesOf(bytes: Buffer): Generator<{ readonly start: number; readonly end: number; readonly ended: boolean }> {
  for (let start = 0; start < bytes.length; ) {
    const at = bytes.indexOf(10, start);
    const end = at < 0 ? bytes.length : at;
    yield { start, end, ended: at >= 0 };
    start = end + 1;
  }
}

function checksum(text: string | Buffer): string {
  return crc32(text).toString(16).padStart(8, "0");
}
