import { sealedFromText, sealedToText } from "@unigate/secrets";
import { z } from "zod";
import type { SavedKind, SavedRow } from "./types.ts";

const KINDS = [
  "organisation",
  "workspace",
  "api_key",
  "integration",
  "provider",
  "config",
  "guardrail",
  "rate_limit_policy",
] as const satisfies readonly SavedKind[];

/** A name that is stored and compared alike everywhere: no NUL, no half of a surrogate pair. */
const name = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => !/\0|\p{Surrogate}/u.test(text), { error: "expected whole characters, none of them NUL" });
const object = z.record(z.string(), z.unknown());

const storedRow = z.object({
  kind: z.enum(KINDS),
  id: name,
  slug: name,
  organisationId: name,
  workspaceId: name.nullable(),
  version: z.int().min(1),
  createdAt: z.int(),
  updatedAt: z.int(),
  resource: object.nullable(),
  details: object,
  sealed: z.string().nullable(),
  keyHashes: z.array(z.string().regex(/^[0-9a-f]{64}$/)).max(8),
});

/** A row as it is written down: JSON, with what is sealed as base64 of its message. */
export type StoredRow = z.infer<typeof storedRow>;

export function storedRowOf(row: SavedRow): StoredRow {
  const { kind, id, slug, organisationId, workspaceId, version, createdAt, updatedAt, resource, details, sealed, keyHashes } = row;
  return {
    kind,
    id,
    slug,
    organisationId,
    workspaceId,
    version,
    createdAt,
    updatedAt,
    resource,
    details,
    sealed: sealed === null ? null : sealedToText(sealed),
    keyHashes: [...keyHashes],
  };
}

/** The row in JSON that was written down. Throws when it is none. */
export function rowOfStored(json: unknown): SavedRow {
  const { sealed, ...row } = storedRow.parse(json);
  return { ...row, sealed: sealed === null ? null : sealedFromText(sealed) };
}

/** A text that is the same for equal rows. */
export function textOfRow(row: SavedRow): string {
  return JSON.stringify(storedRowOf(row));
}

/** Throws a RangeError that says what of the row cannot be stored. */
export function refuseBadRow(row: SavedRow): void {
  const { success, error } = storedRow.safeParse(storedRowOf(row));
  if (success) return;
  const [issue] = error.issues;
  throw new RangeError(
    `${row.kind} ${JSON.stringify(row.id)} cannot be saved: ${issue?.path.join(".") ?? "row"}: ${issue?.message ?? "expected a row"}`,
  );
}

/** Which thing is removed, and from which version. */
export const thingSchema = storedRow.pick({ kind: true, id: true, version: true });
