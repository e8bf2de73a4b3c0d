import { z } from "zod";

// What answers say, for the description of the API. Tests hold every answer against it.

/** Of something deleted. */
export const deleted = z.object({ success: z.literal(true) });
/** Of a change that has nothing to tell. */
export const changed = z.object({});

/** When it was made and changed, and what declares it; null = not known, and saved. */
export const origin = {
  source: z.string().nullable(),
  created_at: z.iso.datetime().nullable(),
  last_updated_at: z.iso.datetime().nullable(),
};

/** Where a thing belongs. */
export const belonging = { organisation_id: z.string(), workspace_id: z.string().nullable() };

/** What a thing is called by, once it is made or changed. */
export function reference<Name extends string>(object: Name) {
  return { id: z.string(), slug: z.string(), object: z.literal(object) };
}

/** A page of things; `total` counts all that match. */
export function listFields<Row extends z.ZodType>(row: Row) {
  return { object: z.literal("list"), total: z.int().min(0), data: z.array(row) };
}

/** The older form of some answers. */
export function successful<Data extends z.ZodType>(data: Data) {
  return z.object({ success: z.literal(true), data });
}

/** Limits on a key or a provider. */
export const limits = z.array(
  z.object({
    type: z.enum(["requests", "tokens", "concurrency"]),
    unit: z.enum(["rps", "rpm", "rph", "rpd", "rpw"]).nullable(),
    value: z.int().min(0),
  }),
);

export const anything = z.record(z.string(), z.unknown());
