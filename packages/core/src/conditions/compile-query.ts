import { nearestName } from "../config/nearest-name.ts";
import { MAX_SHOWN } from "../config/rules.ts";
import { isObject, type JsonObject } from "../json.ts";
import { isOperator, OPERATORS, testOf } from "./operators.ts";
import { fieldAt, type Reading } from "./reading.ts";
import type { Condition, ValueTest } from "./types.ts";

/** Keys and list items of one query. */
const MAX_PARTS = 1_000;
/** `$and` and `$or` within each other. */
const MAX_DEPTH = 20;

/**
 * Compiles the query of one condition (behaviour 2.4): sibling keys are ANDed, also beside `$and` and `$or`; `{}`
 * always holds. What is wrong is added to the problems of `reading`, and the result then means nothing.
 */
export function compileQuery(reading: Reading, query: JsonObject, path: string): Condition {
  const parts = countParts(query);
  reading.partsLeft -= parts;
  if (parts > MAX_PARTS) return refused(reading, path, `a query has at most ${MAX_PARTS} keys and values, found ${parts}`);
  if (reading.partsLeft < 0) return refused(reading, path, "the queries of this config have too many keys and values together");
  return objectOf(reading, query, path, 0);
}

const NOTHING: Condition = { kind: "all", of: [] };

function refused(reading: Reading, path: string, message: string): Condition {
  reading.problems.push({ path, message });
  return NOTHING;
}

function countParts(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let parts = 0;
  for (const item of Object.values(value)) parts += 1 + countParts(item);
  return parts;
}

function objectOf(reading: Reading, query: JsonObject, path: string, depth: number): Condition {
  const of = Object.entries(query).map(([key, value]) => {
    const at = `${path}.${key.slice(0, MAX_SHOWN)}`;
    if (key === "$and" || key === "$or") return listOf(reading, key, value, at, depth + 1);
    if (key.startsWith("$")) return refused(reading, at, operatorForField(key));
    return fieldOf(reading, key, value, at);
  });
  const [only] = of;
  return of.length === 1 && only !== undefined ? only : { kind: "all", of };
}

function listOf(reading: Reading, key: "$and" | "$or", value: unknown, path: string, depth: number): Condition {
  if (!Array.isArray(value) || value.length === 0) return refused(reading, path, "expected a list of at least one query");
  if (depth > MAX_DEPTH) return refused(reading, path, `$and and $or may be nested ${MAX_DEPTH} times`);
  const of = value.map((item: unknown, index) =>
    isObject(item)
      ? objectOf(reading, item, `${path}[${index}]`, depth)
      : refused(reading, `${path}[${index}]`, 'expected a query such as {"metadata.tier":"paid"}'),
  );
  return { kind: key === "$and" ? "all" : "any", of };
}

function operatorForField(key: string): string {
  const fieldFirst = `expected a field around it, such as {"metadata.tier":{"${key}":"paid"}}`;
  if (isOperator(key)) return fieldFirst;
  return unknownOperator(key, ["$and", "$or"]);
}

function unknownOperator(key: string, known: readonly string[]): string {
  const near = nearestName(key, known);
  return `unknown operator; expected one of ${known.join(", ")}${near === null ? "" : `; did you mean "${near}"?`}`;
}

function fieldOf(reading: Reading, name: string, value: unknown, path: string): Condition {
  const field = fieldAt(reading, name, path);
  if (field === null) return NOTHING;
  const asked = isObject(value) ? Object.entries(value) : [["$eq", value] as const];
  if (asked.length === 0) return refused(reading, path, 'expected a value or an operator such as {"$eq":"paid"}');
  const tests: ValueTest[] = [];
  for (const [operator, operand] of asked) {
    const at = isObject(value) ? `${path}.${operator.slice(0, MAX_SHOWN)}` : path;
    if (!isOperator(operator)) {
      reading.problems.push({ path: at, message: unknownOperator(operator, OPERATORS) });
      continue;
    }
    const test = testOf(operator, operand, reading.patterns);
    if (typeof test === "string") reading.problems.push({ path: at, message: test });
    else tests.push(test);
  }
  return { kind: "field", field, tests };
}
