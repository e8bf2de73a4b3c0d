import type { Credentials } from "@unigate/core";

/** The most recently opened values, so that a request costs a look-up instead of two decryptions. */
export interface OpenedCache {
  get(key: string): Credentials | undefined;
  set(key: string, opened: Credentials): void;
}

/**
 * Keeps the `size` most recently used values. The key must hold everything that was authenticated, the place too:
 * else a moved or tampered value would be served from here.
 */
export function createOpenedCache(size: number): OpenedCache {
  const values = new Map<string, Credentials>();
  return {
    get(key) {
      const opened = values.get(key);
      if (opened === undefined) return undefined;
      values.delete(key);
      values.set(key, opened);
      return opened;
    },
    set(key, opened) {
      if (size <= 0) return;
      values.set(key, opened);
      if (values.size <= size) return;
      for (const oldest of values.keys()) {
        values.delete(oldest);
        return;
      }
    },
  };
}
