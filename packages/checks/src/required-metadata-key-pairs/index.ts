import type { JsonObject } from "@unigate/core";
import { type Check, type CheckVerdict } from "../define.ts";
import { readWord } from "../parameters.ts";
import { type MatchType, readPairs } from "./read-pairs.ts";

const OPERATORS = ["all", "any", "none"] as const;
type Operator = (typeof OPERATORS)[number];

const MATCH_TYPES = ["exact", "contains", "containsAll", "regex"] as const satisfies readonly MatchType[];

/** Whether all, any or none of some metadata keys have the values they should have (spec 2.7). A missing key has not. */
const requiredMetadataKeyPairs: Check = {
  id: "default.requiredMetadataKeyPairs",
  phases: ["before"],
  prepare(parameters) {
    const operator = readWord("operator", parameters["operator"], OPERATORS, "all");
    const matchType = readWord("matchType", parameters["matchType"], MATCH_TYPES, "exact");
    const pairs = readPairs(parameters["metadataPairs"], matchType);
    return ({ metadata }) => {
      const matchedKeys: string[] = [];
      const unmatchedKeys: string[] = [];
      for (const { key, matches } of pairs) {
        const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
        (value !== undefined && matches(value) ? matchedKeys : unmatchedKeys).push(key);
      }
      return verdictOf(operator, { matchType, matchedKeys, unmatchedKeys });
    };
  },
};

export default requiredMetadataKeyPairs;

interface Found {
  readonly matchType: MatchType;
  readonly matchedKeys: readonly string[];
  readonly unmatchedKeys: readonly string[];
}

function verdictOf(operator: Operator, found: Found): CheckVerdict {
  const { matchedKeys, unmatchedKeys } = found;
  const verdict = operator === "any" ? matchedKeys.length > 0 : (operator === "all" ? unmatchedKeys : matchedKeys).length === 0;
  const data: JsonObject = { explanation: explain(operator, verdict), operator, ...found };
  return { verdict, data };
}

function explain(operator: Operator, verdict: boolean): string {
  switch (operator) {
    case "all":
      return verdict ? "All metadata pairs match." : "Some metadata pairs do not match.";
    case "any":
      return verdict ? "At least one metadata pair matches." : "No metadata pair matches.";
    case "none":
      return verdict ? "No metadata pair matches." : "Some metadata pairs match.";
  }
}
