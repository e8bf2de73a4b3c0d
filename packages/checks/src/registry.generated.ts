// Made by `pnpm gen` from the folders beside this file. Do not edit.
import contains from "./contains/index.ts";
import type { Check } from "./define.ts";
import regexMatch from "./regex-match/index.ts";

export const checks: readonly Check[] = [contains, regexMatch];
