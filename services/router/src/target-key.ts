const MAX_ID = 100;

/** A config as live state knows it: another content under the same id begins anew. */
export interface ConfigVersion {
  readonly configId: string;
  readonly configHash: Buffer;
}

/** What the keys of a config's targets begin with, within its organisation. */
export function targetKeyPrefix({ configId, configHash }: ConfigVersion): string {
  return `${configId.slice(0, MAX_ID)}@${configHash.toString("hex", 0, 16)}/`;
}

/** `optionPath` is one of the compiled config, never a caller's text. */
export function targetKey(version: ConfigVersion, optionPath: string): string {
  return targetKeyPrefix(version) + optionPath;
}
