import { z } from "zod";

const status = z.union(
  [
    z.int().min(0).max(999),
    z
      .string()
      .regex(/^\d{1,3}$/)
      .transform(Number),
  ],
  {
    error: "expected an HTTP status such as 429",
  },
);

const filterSchema = z.strictObject({
  trace_id: z.string().optional(),
  /** Identifier of the catalogue, or the slug of a saved provider. */
  provider: z.string().optional(),
  /** As requested, or as the provider named it. */
  model: z.string().optional(),
  status: status.optional(),
  api_key_id: z.string().optional(),
});

export type LogFilter = z.infer<typeof filterSchema>;

export type ReadFilter =
  | { readonly ok: true; readonly filter: LogFilter }
  | { readonly ok: false; readonly param: string; readonly message: string };

/** The filter in `filter_json`; empty bytes are no filter. Unknown names are refused: they would silently match all. */
export function readFilter(json: Buffer): ReadFilter {
  if (json.length === 0) return { ok: true, filter: {} };
  let value: unknown;
  try {
    value = JSON.parse(json.toString("utf8"));
  } catch {
    return { ok: false, param: "filter", message: "The filter is not JSON." };
  }
  const result = filterSchema.safeParse(value);
  if (result.success) return { ok: true, filter: result.data };
  const [issue] = result.error.issues;
  if (issue?.code === "unrecognized_keys") {
    const names = Object.keys(filterSchema.shape).join(", ");
    return { ok: false, param: issue.keys[0] ?? "filter", message: `Logs cannot be filtered by "${issue.keys[0]}"; expected ${names}.` };
  }
  const param = String(issue?.path[0] ?? "filter");
  return { ok: false, param, message: `The filter "${param}" is invalid: ${issue?.message ?? "unknown"}.` };
}
