import { isScalar, type Scalar } from "../param-value.ts";
import type { PlanFacts } from "../plan/types.ts";
import { numberOf } from "./number-of.ts";
import type { Condition, Field, PatternSizes, ValueTest } from "./types.ts";

/** Where the paths of clients begin; `facts.path` is what follows. */
const ROOT_PATH = "/v1";
/** Instructions x characters of all patterns of a config together: at 25 ns each, a tenth of a second at worst. */
const MAX_PATTERN_WORK = 4_000_000;

/** Whether a query holds for a request. Bounded by the size of the compiled query. */
export function isTrue(condition: Condition, facts: PlanFacts): boolean {
  switch (condition.kind) {
    case "all":
      return condition.of.every((part) => isTrue(part, facts));
    case "any":
      return condition.of.some((part) => isTrue(part, facts));
    case "field": {
      const value = fieldValue(condition.field, facts);
      return condition.tests.every((test) => passes(test, value));
    }
  }
}

/** The value that a request has there; undefined when it has none that can be compared. */
export function fieldValue(field: Field, facts: PlanFacts): Scalar | undefined {
  switch (field.kind) {
    case "metadata":
      return Object.hasOwn(facts.metadata, field.key) ? comparable(facts.metadata[field.key]) : undefined;
    case "param":
      return comparable(facts.param(field.path));
    case "header":
      return comparable(facts.header(field.name));
    case "pathname":
      return ROOT_PATH + facts.path;
  }
}

function comparable(value: unknown): Scalar | undefined {
  return isScalar(value) ? value : undefined;
}

/** Without a value `$ne` and `$nin` are true and all others false (behaviour 2.4). */
function passes(test: ValueTest, value: Scalar | undefined): boolean {
  switch (test.operator) {
    case "$eq":
      return value === test.value;
    case "$ne":
      return value !== test.value;
    case "$in":
      return value !== undefined && test.values.has(value);
    case "$nin":
      return value === undefined || !test.values.has(value);
    case "$regex":
      return typeof value === "string" && value.length <= longestText(test.all) && test.pattern.matches(value);
    default:
      return compares(test.operator, numberOf(value), test.value);
  }
}

function compares(operator: "$gt" | "$gte" | "$lt" | "$lte", found: number | null, asked: number): boolean {
  if (found === null) return false;
  switch (operator) {
    case "$gt":
      return found > asked;
    case "$gte":
      return found >= asked;
    case "$lt":
      return found < asked;
    case "$lte":
      return found <= asked;
  }
}

/** A longer text matches no pattern: small patterns look at whole prompts, large ones at what they can in time. */
function longestText({ total }: PatternSizes): number {
  return MAX_PATTERN_WORK / total;
}
