import { createHash } from "node:crypto";
import type { HookRef, Tenant } from "@unigate/contracts";
import { type Call, type GuardrailResource, isObject, type JsonObject, jsonOf } from "@unigate/core";
import { RpcError } from "@unigate/rpc";
import { LRUCache } from "lru-cache";
import type { GuardrailDeps } from "./deps.ts";
import { bringsChecks, readHook, savedHookJson } from "./hook.ts";
import { brokenHook, named, type PreparedHook, prepareHook } from "./prepare.ts";
import { savedChecks } from "./saved-checks.ts";

/** Hooks and checks together; a compiled pattern may hold a state cache of some MiB. */
const MAX_PREPARED = 1_000;

/** Hooks by what they say, prepared once. */
export interface PreparedHooks {
  /** Rejects when the inline JSON is none. A saved guardrail that cannot be had is a hook with one errored check. */
  get(ref: HookRef, tenant: Tenant | undefined, call: Call): Promise<PreparedHook>;
}

export function createPreparedHooks({
  resolver,
  findCheck,
  sealer,
}: Pick<GuardrailDeps, "resolver" | "findCheck" | "sealer">): PreparedHooks {
  const kept = new LRUCache<string, PreparedHook>({ maxSize: MAX_PREPARED, sizeCalculation: ({ checks }) => 1 + checks.length });

  function prepared(key: string, id: string, json: () => JsonObject): PreparedHook {
    const known = kept.get(key);
    if (known !== undefined) return known;
    const made = prepareHook(readHook(id, json()), findCheck);
    kept.set(key, made);
    return made;
  }

  async function saved(ref: HookRef, config: JsonObject, content: string, tenant: Tenant | undefined, call: Call): Promise<PreparedHook> {
    const own = readHook(ref.id, config);
    if (tenant === undefined) throw new RpcError("INVALID_ARGUMENT", "A saved guardrail needs a tenant.");
    try {
      const found = await resolver.resolve<GuardrailResource>({ kind: "guardrail", id: ref.id, tenant }, call);
      if (found === null) return brokenHook(own, named("UnknownGuardrailError", `there is no guardrail "${ref.id}"`));
      const { value, sealed } = found;
      const version = found.version === "" ? digest(JSON.stringify([value, sealed?.ciphertext.toString("base64")])) : found.version;
      return prepared(JSON.stringify([tenant.organisationId, tenant.workspaceId, ref.id, version, content]), ref.id, () =>
        savedHookJson(savedChecks(value, sealed, sealer), value.actions, config),
      );
    } catch {
      return brokenHook(own, named("GuardrailUnavailableError", `the guardrail "${ref.id}" could not be read`));
    }
  }

  return {
    async get(ref, tenant, call) {
      if (ref.inlineJson.length === 0) return saved(ref, {}, "", tenant, call);
      const content = digest(ref.inlineJson);
      const key = `${content} ${ref.id}`;
      const known = kept.get(key);
      if (known !== undefined) return known;
      const json = inlineHook(ref.inlineJson);
      return bringsChecks(json) ? prepared(key, ref.id, () => json) : saved(ref, json, content, tenant, call);
    },
  };
}

function inlineHook(bytes: Buffer): JsonObject {
  let json: unknown;
  try {
    json = jsonOf(bytes);
  } catch (cause) {
    throw new RpcError("INVALID_ARGUMENT", "An inline hook is not valid JSON.", cause);
  }
  if (!isObject(json)) throw new RpcError("INVALID_ARGUMENT", "An inline hook is not a JSON object.");
  return json;
}

function digest(content: Buffer | string): string {
  return createHash("sha256").update(content).digest("base64url");
}
