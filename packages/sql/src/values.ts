// Types whose text the two engines would read in different ways, by the number PostgreSQL gives them.

export const INT8 = 20;
export const BYTEA = 17;
/** date, timestamp, timestamptz, numeric: the client of the server would make local dates of the first. */
export const TEXT_TYPES: readonly number[] = [1082, 1114, 1184, 1700];

/** A bigint. Throws when it is beyond what a number holds exactly. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError(`the database holds ${text}, beyond the largest exact number`);
}
