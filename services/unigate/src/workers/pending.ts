/** Questions to another process that wait for their answers. */
export interface Pending<T> {
  /** Sends a question by `send`. Fails when no answer comes in time, or when the other process is gone. */
  ask(send: (id: number) => void): Promise<T>;
  answer(id: number, value: T): void;
  /** Nobody will answer any more. */
  drop(): void;
}

/** `who` is named by the errors. */
export function createPending<T>(who: string, deadlineMs: number): Pending<T> {
  const waiting = new Map<number, { resolve(value: T): void; reject(error: Error): void }>();
  let last = 0;
  return {
    ask(send) {
      const id = ++last;
      let timer: NodeJS.Timeout | undefined;
      return new Promise<T>((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`${who} did not answer within ${deadlineMs} ms`)), deadlineMs);
        waiting.set(id, { resolve, reject });
        send(id);
      }).finally(() => {
        clearTimeout(timer);
        waiting.delete(id);
      });
    },
    answer: (id, value) => waiting.get(id)?.resolve(value),
    drop() {
      for (const one of waiting.values()) one.reject(new Error(`${who} is gone`));
    },
  };
}
