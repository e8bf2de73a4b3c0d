/** For the process log only: the stack of what went wrong inside. */
export function causeText(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}
