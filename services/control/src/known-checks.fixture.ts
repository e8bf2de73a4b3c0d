import { checks, findCheck } from "@unigate/checks";
import type { CheckCatalogue } from "./guardrails.ts";

/** The built-in checks. */
export const knownChecks: CheckCatalogue = { ids: checks.map(({ id }) => id), find: findCheck };
