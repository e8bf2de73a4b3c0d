import { type ConfigProblem, compileConfig } from "@unigate/core";

/** What is wrong with a config that is to be saved; empty when it is valid. */
export function checkSavedConfig(config: unknown): readonly ConfigProblem[] {
  const result = compileConfig(config, "saved");
  return result.ok ? [] : result.problems;
}
