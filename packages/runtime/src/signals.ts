/** Told about the signals that stop a process. */
export interface StopRequest {
  /** SIGINT at a terminal skips the wait for load balancers. */
  readonly interactive: boolean;
}

/** Calls `onStop` at the first SIGTERM or SIGINT and `onHurry` at each further one. Returns how to stop listening. */
export function onStopSignals(onStop: (request: StopRequest) => void, onHurry: () => void): () => void {
  let stopping = false;
  const handle = (interactive: boolean) => () => {
    if (stopping) return onHurry();
    stopping = true;
    onStop({ interactive });
  };
  const onTerm = handle(false);
  const onInt = handle(true);
  process.on("SIGTERM", onTerm);
  process.on("SIGINT", onInt);
  return () => {
    process.off("SIGTERM", onTerm);
    process.off("SIGINT", onInt);
  };
}
