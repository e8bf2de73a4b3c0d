import { deeperThan, isObject } from "@unigate/core";
import { CheckParameterError } from "../define.ts";
import { createPattern, type Pattern } from "../pattern.ts";
import { FORMS, type Groups, groupsOf, isNames, isSchema, REFUSED, type Schema, WITH_LIST, WITH_NAMED, WITH_SCHEMA } from "./keywords.ts";
import { type Anchors, createReferences } from "./references.ts";

/** A schema whose every part was looked at: all keywords have their form, all references lead somewhere. */
export interface ReadSchema {
  readonly root: Schema;
  readonly targets: ReadonlyMap<string, Schema>;
  readonly patterns: ReadonlyMap<string, Pattern>;
  readonly groups: ReadonlyMap<Schema, Groups>;
  /** Whether it must be known which properties and items were looked at (`unevaluatedProperties`, `unevaluatedItems`). */
  readonly tracks: boolean;
}

const MAX_LENGTH = 128 * 1_024;
const MAX_DEPTH = 100;
const MAX_PATTERNS = 100;

interface Reading {
  readonly groups: Map<Schema, Groups>;
  readonly waiting: { readonly schema: unknown; readonly path: string }[];
  readonly anchors: Anchors;
  readonly references: { readonly reference: string; readonly path: string }[];
  readonly patterns: Map<string, Pattern>;
  tracks: boolean;
}

/**
 * Reads a schema of draft 2020-12, with `definitions`, `dependencies` and lists in `items` of older ones. Throws
 * CheckParameterError, naming the place: too large or deep, a keyword without its form, a reference out of the schema, a
 * pattern that linear time cannot do. Keywords that are not known mean nothing.
 */
export function readSchema(value: unknown): ReadSchema {
  if (!isSchema(value)) throw new CheckParameterError("schema", "a JSON schema: an object, true or false");
  if (deeperThan(value, MAX_DEPTH)) throw new CheckParameterError("schema", `at most ${MAX_DEPTH} levels`);
  if (JSON.stringify(value).length > MAX_LENGTH) throw new CheckParameterError("schema", `at most ${MAX_LENGTH} characters`);
  const reading: Reading = {
    groups: new Map(),
    waiting: [{ schema: value, path: "schema" }],
    anchors: new Map(),
    references: [],
    patterns: new Map(),
    tracks: false,
  };
  readWaiting(reading, value);
  const find = createReferences(value, reading.anchors);
  const targets = new Map<string, Schema>();
  // What a reference leads to may stand where no keyword holds a schema, and have references of its own.
  for (const { reference, path } of reading.references) {
    if (targets.has(reference)) continue;
    const target = find(reference);
    if (!isSchema(target)) throw new CheckParameterError(path, "a reference to a schema within the schema, such as #/$defs/name");
    targets.set(reference, target);
    reading.waiting.push({ schema: target, path: `schema(${reference})` });
    readWaiting(reading, value);
  }
  return { root: value, targets, patterns: reading.patterns, groups: reading.groups, tracks: reading.tracks };
}

function readWaiting(reading: Reading, root: Schema): void {
  for (let next = reading.waiting.pop(); next !== undefined; next = reading.waiting.pop()) {
    const { schema, path } = next;
    if (!isSchema(schema)) throw new CheckParameterError(path, "a JSON schema: an object, true or false");
    if (typeof schema === "boolean" || reading.groups.has(schema)) continue;
    reading.groups.set(schema, groupsOf(schema));
    for (const [keyword, value] of Object.entries(schema)) readKeyword(reading, keyword, value, `${path}.${keyword}`);
    if (typeof schema["$anchor"] === "string") addAnchor(reading, `${path}.$anchor`, schema["$anchor"], schema);
    if (schema !== root && schema["$id"] !== undefined) throw new CheckParameterError(`${path}.$id`, "one $id only, at the top");
  }
}

function readKeyword(reading: Reading, keyword: string, value: unknown, path: string): void {
  if (REFUSED.includes(keyword)) throw new CheckParameterError(path, "$ref instead");
  const form = Object.hasOwn(FORMS, keyword) ? FORMS[keyword] : undefined;
  if (form !== undefined && !form.fits(value)) throw new CheckParameterError(path, form.expected);
  if (keyword === "$ref") reading.references.push({ reference: String(value), path });
  if (keyword === "pattern") readPattern(reading, path, String(value));
  if (keyword === "patternProperties" && isObject(value))
    for (const source of Object.keys(value)) readPattern(reading, `${path}.${source}`, source);
  if (keyword.startsWith("unevaluated")) reading.tracks = true;
  readInner(reading, keyword, value, path);
}

function addAnchor({ anchors }: Reading, path: string, name: string, schema: Schema): void {
  if (anchors.has(name)) throw new CheckParameterError(path, "a name that no other $anchor has");
  anchors.set(name, schema);
}

function readPattern({ patterns }: Reading, path: string, source: string): void {
  if (patterns.has(source)) return;
  if (patterns.size === MAX_PATTERNS) throw new CheckParameterError("schema", `at most ${MAX_PATTERNS} patterns`);
  patterns.set(source, createPattern(path, `/${source === "" ? "(?:)" : source}/u`));
}

/** Schemas within the value of a keyword. */
function readInner({ waiting }: Reading, keyword: string, value: unknown, path: string): void {
  const isList = WITH_LIST.includes(keyword) || (keyword === "items" && Array.isArray(value));
  if (isList) {
    if (!Array.isArray(value) || value.length === 0) throw new CheckParameterError(path, "an array of schemas that is not empty");
    value.forEach((schema: unknown, index) => waiting.push({ schema, path: `${path}[${index}]` }));
  } else if (WITH_SCHEMA.includes(keyword) || keyword === "items") {
    waiting.push({ schema: value, path });
  } else if (WITH_NAMED.includes(keyword) || keyword === "dependencies") {
    if (!isObject(value)) throw new CheckParameterError(path, "an object of schemas");
    for (const [name, schema] of Object.entries(value))
      if (keyword !== "dependencies" || !isNames(schema)) waiting.push({ schema, path: `${path}.${name}` });
  }
}
