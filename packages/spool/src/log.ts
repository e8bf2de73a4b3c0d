/** The part of the process's logger that is used here. */
export interface SpoolLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

/** What a failure is called in the log: the system's code where there is one. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return code ?? error.message;
}
