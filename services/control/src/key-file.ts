import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ApiKeyResource, type Clock, newId } from "@unigate/core";
import { hashOfKey, makeGatewayKey } from "@unigate/secrets";
import { z } from "zod";
import { FIRST_KEY_SCOPES } from "./declared/scopes.ts";
import { DEFAULT_ORGANISATION, DEFAULT_WORKSPACE } from "./tenants.ts";
import { writeAtomic } from "./write-atomic.ts";

/** Keys that were made now and are never shown again. */
export interface FirstKeys {
  readonly admin?: string;
  readonly workspace?: string;
}

/** The keys of `keys.json` in the data folder, and those that had to be made. */
export interface KeyFile {
  readonly keys: readonly ApiKeyResource[];
  readonly firstKeys: FirstKeys;
}

const storedKey = z.object({
  id: z.string().min(1),
  name: z.string(),
  type: z.enum(["organisation-service", "workspace-service", "workspace-user"]),
  organisation_id: z.string().min(1),
  workspace_id: z.string().nullable(),
  scopes: z.array(z.string()),
  key_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  created_at: z.int(),
});
const stored = z.object({ version: z.literal(1), keys: z.array(storedKey) });
type StoredKey = z.infer<typeof storedKey>;

/** Id of the admin key, by which the edge asks for its hash (DESIGN 8.21). */
const ADMIN_KEY_ID = "admin";
const ADMIN = { id: ADMIN_KEY_ID, name: "admin", type: "organisation-service", workspace_id: null, scopes: ["*"] } as const;

/**
 * Reads the keys, hashes only, and makes what is missing: a workspace key for ws-default, and an admin key unless
 * `adminKey` (UNIGATE_ADMIN_KEY) names one, which then takes the place of a stored one and is not stored.
 * Throws when the file is damaged: keys are never silently made anew.
 */
export async function openKeyFile(dataDir: string, adminKey: string | undefined, clock: Clock): Promise<KeyFile> {
  const file = join(dataDir, "keys.json");
  const known = await readStored(file);
  const made: StoredKey[] = [];
  const make = (fields: Pick<StoredKey, "id" | "name" | "type" | "workspace_id" | "scopes">): string => {
    const text = makeGatewayKey();
    made.push({ ...fields, organisation_id: DEFAULT_ORGANISATION, key_sha256: hashOfKey(text).toString("hex"), created_at: clock.now() });
    return text;
  };

  const given = adminKey === undefined || adminKey === "" ? null : adminKey;
  const admin = given === null && !known.some(({ id }) => id === ADMIN_KEY_ID) ? make({ ...ADMIN, scopes: [...ADMIN.scopes] }) : null;
  const workspace = known.some(({ id }) => id !== ADMIN_KEY_ID)
    ? null
    : make({
        id: newId("key-"),
        name: "first workspace key",
        type: "workspace-service",
        workspace_id: DEFAULT_WORKSPACE,
        scopes: [...FIRST_KEY_SCOPES],
      });
  const all = [...known, ...made];
  if (made.length > 0) await writeAtomic(file, `${JSON.stringify({ version: 1, keys: all }, null, 2)}\n`);

  const used = given === null ? all : all.filter(({ id }) => id !== ADMIN_KEY_ID);
  const keys = used.map(resourceOf);
  if (given !== null)
    keys.push(resourceOf({ ...ADMIN, scopes: ["*"], organisation_id: DEFAULT_ORGANISATION, key_sha256: hashOfKey(given).toString("hex") }));
  return { keys, firstKeys: { ...(admin === null ? {} : { admin }), ...(workspace === null ? {} : { workspace }) } };
}

async function readStored(file: string): Promise<readonly StoredKey[]> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (reason) {
    if (reason instanceof Error && "code" in reason && reason.code === "ENOENT") return [];
    throw reason;
  }
  try {
    return stored.parse(JSON.parse(text)).keys;
  } catch {
    throw new Error(`${file} is damaged; restore it from a backup, or move it away to have new keys made`);
  }
}

function resourceOf({ id, name, type, organisation_id, workspace_id, scopes, key_sha256 }: Omit<StoredKey, "created_at">): ApiKeyResource {
  return {
    id,
    name,
    type,
    organisation_id,
    workspace_id,
    scopes,
    expires_at: null,
    defaults: { config_id: null, metadata: {}, allow_config_override: true },
    rate_limits: [],
    allowed_models: null,
    allowed_providers: null,
    key_sha256,
  };
}
