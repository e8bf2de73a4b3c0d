import { SqlUnavailable, sqlState } from "@unigate/sql";
import { SavedUnavailable } from "../types.ts";

/** Classes of SQLSTATE that pass: connection, transaction rolled back, resources, object in use, operator, system; and read-only. */
const PASSING = /^(?:08|40|53|55|57|58)|^25006$/;

/** Whether the same may work later: the database is away, busy, full or read-only. */
function isUnavailable(error: unknown): boolean {
  if (error instanceof SqlUnavailable) return true;
  const state = sqlState(error);
  if (state !== null) return PASSING.test(state);
  if (!(error instanceof Error)) return false;
  // Node's own: ECONNREFUSED, ENOTFOUND, ETIMEDOUT; and those that the client words itself.
  const code = "code" in error ? String(error.code) : "";
  return /^E[A-Z_]+$/.test(code) || /timeout|terminated|not queryable|connection|closed/i.test(error.message);
}

/** A row may have been saved although the answer was lost: what the poll finds then is the truth. */
export function asUnavailable(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  const why = error instanceof Error && error.message !== "" ? error.message : String(error);
  return new SavedUnavailable(`the database does not answer: ${why}`, { cause: error });
}
