import type { Sealed } from "@unigate/contracts";
import type { ProviderResource } from "@unigate/core";
import { readProvider } from "../../providers.ts";
import type { ApiDeps } from "../asked.ts";
import { refuseFindings } from "../read-fields.ts";
import type { Connection } from "./fields.ts";
import { refuseMovedCredential } from "./moved-credential.ts";

/** A provider and its credentials, sealed for one place. */
export interface Connected {
  readonly json: ProviderResource;
  readonly sealed: Sealed | null;
}

/** Names of the request's fields, where they differ from those of unigate.yaml. */
export type FieldNames = Readonly<Record<string, string>>;

/**
 * Reads a provider as unigate.yaml's are read, over what it was before: settings and credentials that are not given
 * stay, but no credential goes to another address unless it is given again. Credentials are sealed for `place`; those
 * before were too. Throws invalid_request.
 */
export function connect(
  { catalogue, sealer }: Pick<ApiDeps, "catalogue" | "sealer">,
  base: Pick<ProviderResource, "slug" | "provider" | "organisation_id" | "workspace_id">,
  given: Connection,
  former: Connected | null,
  { place, names = {} }: { readonly place: string; readonly names?: FieldNames },
): Connected {
  const { custom_host = null, allow_custom_host = false, rate_limits = [], settings = {} } = former?.json ?? {};
  const item = {
    ...settings,
    ...(custom_host === null ? {} : { custom_host }),
    allow_custom_host,
    rate_limits: [...rate_limits],
    ...given,
    slug: base.slug,
    provider: base.provider,
    organisation: base.organisation_id,
    ...(base.workspace_id === null ? {} : { workspace: base.workspace_id }),
  };
  const hasCredentials = former !== null && former.sealed !== null;
  const { json: read, credentials, findings } = readProvider(item, catalogue, hasCredentials);
  const json: ProviderResource = { ...read, ...modelRule(former?.json) };
  refuseFindings(findings.map(({ path, message }) => ({ path: names[path] ?? path, message })));
  const kept = openFor(sealer, former?.sealed ?? null, base.organisation_id, place);
  if (former !== null) refuseMovedCredential(former.json, json, { stored: Object.keys(kept), given: Object.keys(credentials), names });
  if (Object.keys(credentials).length === 0) return { json, sealed: former?.sealed ?? null };
  const all = { ...kept, ...credentials };
  return { json, sealed: sealer.seal(all, base.organisation_id, place) };
}

/** What an integration says of models is not a connection's to change. */
function modelRule(provider: ProviderResource | undefined): Pick<ProviderResource, "model_access"> {
  return provider?.model_access === undefined ? {} : { model_access: provider.model_access };
}

/** Credentials that are about to be sealed again, in plain. */
export function openFor(
  sealer: ApiDeps["sealer"],
  sealed: Sealed | null,
  organisationId: string,
  place: string,
): Readonly<Record<string, string>> {
  if (sealed === null) return {};
  return Object.fromEntries(Object.entries(sealer.open(sealed, organisationId, place)).map(([name, secret]) => [name, secret.reveal()]));
}

/** What an integration's credentials are sealed for: no request looks for them there. */
export function integrationPlace(slug: string): string {
  return `integration/${slug}`;
}
