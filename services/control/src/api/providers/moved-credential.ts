import { ADDRESS_SETTINGS, type ProviderResource } from "@unigate/core";
import { invalidField } from "../read-fields.ts";

/** The credentials of a change, by the names of unigate.yaml. */
interface CredentialsOfChange {
  readonly stored: readonly string[];
  readonly given: readonly string[];
  /** Names of the request's fields, where they differ. */
  readonly names: Readonly<Record<string, string>>;
}

/**
 * Who may change a provider need not know its credential, and must not learn it by having it sent to an address of
 * his own: a change of where it goes needs every stored credential in the same request. Throws invalid_request.
 */
export function refuseMovedCredential(before: ProviderResource, after: ProviderResource, change: CredentialsOfChange): void {
  const { stored, given, names } = change;
  const missing = stored.filter((name) => !given.includes(name));
  if (missing.length === 0) return;
  const moved = movedField(before, after);
  if (moved === null) return;
  const wanted = missing.map((name) => `"${names[name] ?? name}"`).join(", ");
  throw invalidField(
    names[moved] ?? moved,
    `a change of where the stored credential is sent needs the credential in the same request: give ${wanted} again`,
  );
}

/** The first field that sends a credential elsewhere; null = it goes where it went. */
function movedField(before: ProviderResource, after: ProviderResource): string | null {
  if (before.provider !== after.provider) return "provider";
  if (before.custom_host !== after.custom_host) return "custom_host";
  // Then any caller names the address.
  if (!before.allow_custom_host && after.allow_custom_host) return "allow_custom_host";
  return ADDRESS_SETTINGS.find((name) => before.settings[name] !== after.settings[name]) ?? null;
}
