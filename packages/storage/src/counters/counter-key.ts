/** Key of what an organisation keeps. All of them carry one hash tag, so any set of them is one slot of a cluster. */
export function organisationKey(organisationId: string, rest: string): string {
  return `ug:{${organisationId}}:${rest}`;
}

/** A counter's key without its window's start, for a store that tells the time itself. */
export function counterKeyParts(organisationId: string, limitId: string, bucket: string): { before: string; after: string } {
  return { before: organisationKey(organisationId, `c:${limitId.length}:${limitId}:`), after: `:${bucket}` };
}

/** Key of a limit's counter. The bucket comes last and the limit's length first: no two limits can meet in one key. */
export function counterKey(organisationId: string, limitId: string, bucket: string, start: number): string {
  const { before, after } = counterKeyParts(organisationId, limitId, bucket);
  return `${before}${start}${after}`;
}

/** Key of a reservation. */
export function reservationKey(organisationId: string, reservationId: string): string {
  return organisationKey(organisationId, `r:${reservationId}`);
}
