import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "@unigate/runtime";
import { createSealer, loadOrMakeMasterKey, parseMasterKey, type Sealer } from "@unigate/secrets";

/** The variable or file that the master key of these settings is read from. */
export function masterKeySource({ masterKey, dataDir }: Pick<Settings, "masterKey" | "dataDir">): string {
  return masterKey === null ? join(dataDir, "master.key") : "UNIGATE_MASTER_KEY";
}

/** In one process a key file is made; in a mesh the key must be given, or services could not open each other's secrets. */
export async function openSealer(settings: Settings, single: boolean): Promise<Sealer> {
  if (settings.masterKey !== null) return createSealer(parseMasterKey(settings.masterKey.reveal()));
  if (!single)
    throw new Error(
      "UNIGATE_MASTER_KEY is required where control, connector and guardrail run apart: set the same 32 bytes (base64 or hex) for all of them",
    );
  const file = masterKeySource(settings);
  const key = await loadOrMakeMasterKey(file);
  if (existsSync(file)) chmodSync(file, 0o600);
  return createSealer(key);
}
