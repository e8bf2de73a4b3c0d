import type { JsonObject } from "@unigate/core";
import { type Check, CheckParameterError, type CheckVerdict } from "../define.ts";
import { createWordFinder } from "./word-finder.ts";

type Operator = "any" | "all" | "none";

const MAX_WORDS = 1_000;
const MAX_WORD_LENGTH = 1_000;

/** Whether the text has any, all or none of some words: substrings, upper and lower case kept apart (behaviour 7.3). */
const contains: Check = {
  id: "default.contains",
  phases: ["before", "after"],
  prepare(parameters) {
    const words = readWords(parameters["words"]);
    const operator = readOperator(parameters["operator"]);
    const find = createWordFinder(words);
    return ({ text }) => verdictOf(operator, words, find(text));
  },
};

export default contains;

function verdictOf(operator: Operator, words: readonly string[], found: ReadonlySet<string>): CheckVerdict {
  const foundWords = words.filter((word) => found.has(word));
  const missingWords = words.filter((word) => !found.has(word));
  const verdict = operator === "any" ? foundWords.length > 0 : (operator === "all" ? missingWords : foundWords).length === 0;
  const data: JsonObject = { explanation: explain(operator, verdict), operator, foundWords, missingWords };
  return { verdict, data };
}

function explain(operator: Operator, verdict: boolean): string {
  switch (operator) {
    case "any":
      return verdict ? "At least one word was found." : "No word was found.";
    case "all":
      return verdict ? "All words were found." : "Some words were not found.";
    case "none":
      return verdict ? "No word was found." : "Some words were found.";
  }
}

function readWords(value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_WORDS || !value.every(isWord)) {
    throw new CheckParameterError("words", `an array of 1 to ${MAX_WORDS} strings of at most ${MAX_WORD_LENGTH} characters`);
  }
  return value;
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_WORD_LENGTH;
}

function readOperator(value: unknown): Operator {
  if (value === "any" || value === "all" || value === "none") return value;
  throw new CheckParameterError("operator", "any, all or none");
}
