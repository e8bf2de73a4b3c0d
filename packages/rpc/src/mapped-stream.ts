import { askNext, letGo } from "./pulled-stream.ts";

/** `source` with each message changed by `change`. Ends when its consumer breaks off, also while a message is awaited. */
export function mapped(source: AsyncIterable<unknown>, change: (message: unknown) => unknown): AsyncIterableIterator<unknown> {
  const iterator = source[Symbol.asyncIterator]();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      const result = await askNext(iterator);
      if (result.done === true) return result;
      try {
        return { done: false, value: change(result.value) };
      } catch (error) {
        letGo(iterator);
        throw error;
      }
    },
    async return() {
      await iterator.return?.();
      return { done: true, value: undefined };
    },
  };
}
