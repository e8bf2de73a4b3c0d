import type { Budget } from "./budget.ts";
import type { Schema } from "./keywords.ts";
import type { ReadSchema } from "./read-schema.ts";
import type { Seen } from "./seen.ts";

/** Something in a value that its schema does not allow. */
export interface SchemaError {
  /** JSON pointer; "" = the whole value. */
  readonly instancePath: string;
  readonly keyword: string;
  readonly message: string;
}

/** The way from the whole value to a part of it, last step first; null = the whole. */
export type Path = { readonly parent: Path; readonly key: string | number } | null;

/** One schema over one part of a value. */
export interface Site {
  readonly whole: ReadSchema;
  readonly budget: Budget;
  readonly schema: { readonly [keyword: string]: unknown };
  readonly value: unknown;
  readonly path: Path;
  /** What of the value was looked at; null when nobody asks. */
  readonly seen: Seen | null;
  /** Where errors go; null when only the verdict counts: the first failure ends it. */
  readonly errors: SchemaError[] | null;
  /** Another schema over the same value, or over a part of it. */
  apply(site: Site, schema: Schema, value: unknown, path: Path, seen: Seen | null, errors: SchemaError[] | null): boolean;
}

const MAX_ERRORS = 20;
const MAX_PATH_LENGTH = 300;

/** Notes a failure. Always false. */
export function fail({ path, errors }: Pick<Site, "path" | "errors">, keyword: string, message: string): false {
  if (errors !== null && errors.length < MAX_ERRORS) errors.push({ instancePath: pointer(path), keyword, message });
  return false;
}

function pointer(path: Path): string {
  const parts: string[] = [];
  for (let at = path; at !== null; at = at.parent) parts.push(String(at.key).slice(0, 100).replaceAll("~", "~0").replaceAll("/", "~1"));
  return parts
    .toReversed()
    .map((part) => `/${part}`)
    .join("")
    .slice(0, MAX_PATH_LENGTH);
}
