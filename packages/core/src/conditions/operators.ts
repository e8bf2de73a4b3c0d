import { compilePattern } from "../linear-pattern.ts";
import { isScalar, MAX_SCALAR_TEXT, type Scalar } from "../param-value.ts";
import { numberOf } from "./number-of.ts";
import type { ValueTest } from "./types.ts";

export const OPERATORS = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$regex"] as const;
type Operator = (typeof OPERATORS)[number];

const MAX_PATTERN_LENGTH = 1_000;
/** Instructions of the patterns of one config: counted repeats multiply. */
const MAX_PATTERN_SIZE = 4_000;

export function isOperator(name: string): name is Operator {
  return (OPERATORS as readonly string[]).includes(name);
}

/** The test of an operator and its operand, or what is wrong with them. `patterns` counts those of the whole config. */
export function testOf(operator: Operator, operand: unknown, patterns: { total: number }): ValueTest | string {
  switch (operator) {
    case "$eq":
    case "$ne":
      if (Array.isArray(operand)) return 'expected one value; a list is written {"$in":[...]} or {"$nin":[...]}';
      return isScalar(operand) ? { operator, value: operand } : EXPECTED_SCALAR;
    case "$in":
    case "$nin":
      if (!Array.isArray(operand)) return "expected a list of values";
      if (!operand.every(isScalar)) return `in the list: ${EXPECTED_SCALAR}`;
      return { operator, values: new Set<Scalar>(operand) };
    case "$regex":
      return patternTest(operand, patterns);
    default: {
      const value = numberOf(operand);
      return value === null ? "expected a number, or text that is one" : { operator, value };
    }
  }
}

const EXPECTED_SCALAR = `expected a number, true, false, null or text of at most ${MAX_SCALAR_TEXT} characters`;

function patternTest(operand: unknown, patterns: { total: number }): ValueTest | string {
  if (typeof operand !== "string") return "expected a pattern as text";
  if (operand.length > MAX_PATTERN_LENGTH) return `a pattern is at most ${MAX_PATTERN_LENGTH} characters, found ${operand.length}`;
  const tooLarge = "the patterns of this config are too large together; use fewer or smaller counted repeats";
  if (patterns.total > MAX_PATTERN_SIZE) return tooLarge;
  const compiled = compilePattern(operand);
  if (!compiled.ok) return `expected a valid pattern without lookahead, lookbehind and backreferences (${compiled.reason})`;
  patterns.total += compiled.pattern.size;
  return patterns.total > MAX_PATTERN_SIZE ? tooLarge : { operator: "$regex", pattern: compiled.pattern, all: patterns };
}
