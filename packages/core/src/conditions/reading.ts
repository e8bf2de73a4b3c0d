import type { ConfigProblem, ParamPath } from "../config/types.ts";
import { readField } from "./read-field.ts";
import type { Field } from "./types.ts";

/** Keys and list items of all queries of one config. */
const MAX_PARTS = 20_000;
/** Places in bodies, and headers, that one config may look at. */
const MAX_PLACES = 100;

/** What is shared while the conditions and hash fields of one config are compiled. */
export interface Reading {
  readonly problems: ConfigProblem[];
  /** By text. */
  readonly params: Map<string, ParamPath>;
  readonly headers: Set<string>;
  /** Keys and list items that queries may still have. */
  partsLeft: number;
  /** Instructions of all patterns. */
  readonly patterns: { total: number };
}

export function newReading(problems: ConfigProblem[]): Reading {
  return { problems, params: new Map(), headers: new Set(), partsLeft: MAX_PARTS, patterns: { total: 0 } };
}

/** Reads a field and notes what it needs of the request; null, and a problem at `path`, when it cannot be read. */
export function fieldAt(reading: Reading, text: string, path: string): Field | null {
  const result = readField(text);
  if (!result.ok) return refused(reading, path, result.message);
  const { field } = result;
  switch (field.kind) {
    case "param": {
      const known = reading.params.get(field.path.text);
      if (known !== undefined) return { kind: "param", path: known };
      if (reading.params.size === MAX_PLACES) return refused(reading, path, `a config may look at ${MAX_PLACES} places of the body`);
      reading.params.set(field.path.text, field.path);
      return field;
    }
    case "header":
      if (reading.headers.size === MAX_PLACES && !reading.headers.has(field.name))
        return refused(reading, path, `a config may look at ${MAX_PLACES} headers`);
      reading.headers.add(field.name);
      return field;
    default:
      return field;
  }
}

function refused(reading: Reading, path: string, message: string): null {
  reading.problems.push({ path, message });
  return null;
}
