const LEFT_OVER_MS = 2_000;

/** Lets the process end by itself, and ends it when something that outlived its stop (a client's socket or timer) keeps it. */
export function endSoon(): void {
  if (process.connected) process.disconnect();
  setTimeout(() => process.exit(), LEFT_OVER_MS).unref();
}
