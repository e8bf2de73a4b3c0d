import { checks, findCheck } from "@unigate/checks";
import type { CheckCatalogue } from "@unigate/control";

/** The built-in guardrail checks, for control: what is saved is checked as the guardrail service will read it. */
export const checkCatalogue: CheckCatalogue = { ids: checks.map(({ id }) => id), find: findCheck };
