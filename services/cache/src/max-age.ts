/** Seconds (behaviour section 0). */
const DEFAULT_MAX_AGE_S = 604_800;
const MIN_MAX_AGE_S = 60;
const MAX_MAX_AGE_S = 7_776_000;

/** How long an entry may be used, in seconds: `asked` when it is in range, else the default. */
export function maxAgeSeconds(asked: number): number {
  return asked >= MIN_MAX_AGE_S && asked <= MAX_MAX_AGE_S ? asked : DEFAULT_MAX_AGE_S;
}
