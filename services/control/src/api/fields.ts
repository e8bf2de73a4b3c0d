import { z } from "zod";

// Fields that several things have.

/** Names are shown, never looked up. */
export const name = z.string().min(1, "expected a name").max(255);
export const text = z.string().min(1, "expected a text that is not empty").max(1_000);
/** A free text for people. */
export const note = z.string().max(5_000).nullable();

/** Where a new thing belongs. The admin key may name any organisation. */
export const place = { organisation_id: text.optional(), workspace_id: text.nullable().optional() };
/** Every query may name the organisation. */
export const anyQuery = z.strictObject({ organisation_id: text.optional() });

/** A field of the specification that says something we cannot do yet: refused, never ignored. */
export function notYet(what: string): z.ZodType {
  const isNothing = (value: unknown): boolean => value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  return z.unknown().refine(isNothing, `${what} are not available yet`).describe("Not available yet.").optional();
}

/** Unix ms as the API writes times; null when it is not known. */
export function isoTime(at: number): string | null {
  return at === 0 ? null : new Date(at).toISOString();
}
