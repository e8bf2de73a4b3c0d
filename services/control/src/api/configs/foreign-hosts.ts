import { type CompiledLeaf, compileConfig, type JsonObject } from "@unigate/core";
import type { Asked } from "../asked.ts";
import { providerOf } from "../providers/read.ts";
import { invalidField } from "../read-fields.ts";
import { thingsOf } from "../things.ts";

/**
 * Who may write configs must not learn a saved provider's credential by having it sent to a host of his own: a
 * custom host goes with a provider that allows it, or with a plain one, which never brings a saved credential.
 * Throws invalid_request.
 */
export function refuseForeignHosts(asked: Pick<Asked, "api" | "caller" | "organisationId">, config: JsonObject): void {
  const compiled = compileConfig(config, "saved");
  if (!compiled.ok) return;
  const leaf = compiled.config.leaves.find((one) => one.customHost !== null && !mayHaveHost(asked, one));
  if (leaf === undefined) return;
  const { destination, optionPath } = leaf;
  const message =
    destination.kind === "slug"
      ? `the provider "@${destination.slug}" does not allow a custom host with its credential; set custom_host or allow_custom_host on that provider`
      : "name the provider that is at this host; without one it could get the credential of any saved provider";
  throw invalidField(`${optionPath}.custom_host`, message);
}

function mayHaveHost(asked: Pick<Asked, "api" | "caller" | "organisationId">, { destination }: CompiledLeaf): boolean {
  if (destination.kind === "provider") return true;
  if (destination.kind !== "slug") return false;
  const named = thingsOf(asked, "provider").filter(({ row }) => row.slug === destination.slug);
  return named.length > 0 && named.every(({ row }) => providerOf(row).allow_custom_host);
}
