/**
 * Key of a limit's counter. All keys of an organisation carry one hash tag, so any set of them is one slot of a
 * cluster. The bucket comes last and the limit's length first: no two limits can meet in one key.
 */
export function counterKey(organisationId: string, limitId: string, bucket: string, start: number): string {
  return `ug:{${organisationId}}:c:${limitId.length}:${limitId}:${start}:${bucket}`;
}

/** Key of a reservation. */
export function reservationKey(organisationId: string, reservationId: string): string {
  return `ug:{${organisationId}}:r:${reservationId}`;
}
