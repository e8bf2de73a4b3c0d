/** The database cannot be reached or used now; the same statement may work later. */
export class SqlUnavailable extends Error {
  override readonly name = "SqlUnavailable";
}

/** A statement that the database refused, with its SQLSTATE; of both engines. */
export class SqlFault extends Error {
  override readonly name = "SqlFault";
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The five characters of SQLSTATE; null when the error is none of the database's ("EPIPE" has five as well, no state begins with E). */
export function sqlState(error: unknown): string | null {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^(?!E)[0-9A-Z]{5}$/.test(code) ? code : null;
}
