const TASKS = Symbol.for("unigate.test.worker-end");

/** Kept by the process: the environment of the suites is loaded apart from them, and so would be a list of this module. */
function tasks(): (() => Promise<void>)[] {
  const kept = Reflect.get(globalThis, TASKS) as (() => Promise<void>)[] | undefined;
  if (kept !== undefined) return kept;
  const made: (() => Promise<void>)[] = [];
  Reflect.set(globalThis, TASKS, made);
  return made;
}

/** Does something after the last suite of this worker. */
export function atWorkerEnd(task: () => Promise<void>): void {
  tasks().push(task);
}

/** Does all of it. */
export async function endWorker(): Promise<void> {
  await Promise.all(tasks().map((task) => task()));
}
