import { LRUCache } from "lru-cache";
import { type Entry, markStale } from "./entry.ts";
import { subjectsOf } from "./names.ts";
import type { ResourceRef } from "./types.ts";

/** The known things, the most recently used ones, found by key and by what a change names. */
export interface Store {
  get(key: string): Entry | undefined;
  put(entry: Entry): void;
  remove(key: string): void;
  /** Marks everything that one of `subjects` names, known or known to be missing. */
  markStale(subjects: readonly string[], now: number): void;
  markAllStale(now: number): void;
  isMissing(key: string, now: number): boolean;
  setMissing(key: string, ref: ResourceRef, until: number): void;
  entries(): number;
  missing(): number;
}

interface Missing {
  readonly until: number;
  readonly subjects: readonly string[];
}

/** A store of at most `maxEntries` things and `maxMissing` missing refs. */
export function createStore(maxEntries: number, maxMissing: number): Store {
  const bySubject = new Map<string, Set<string>>();
  const link = (item: { readonly subjects: readonly string[] }, key: string) => {
    for (const subject of item.subjects) {
      const keys = bySubject.get(subject);
      if (keys === undefined) bySubject.set(subject, new Set([key]));
      else keys.add(key);
    }
  };
  const unlink = (item: { readonly subjects: readonly string[] }, key: string) => {
    for (const subject of item.subjects) {
      const keys = bySubject.get(subject);
      keys?.delete(key);
      if (keys?.size === 0) bySubject.delete(subject);
    }
  };
  const entries = new LRUCache<string, Entry>({ max: maxEntries, dispose: unlink });
  const missing = new LRUCache<string, Missing>({ max: maxMissing, dispose: unlink });

  return {
    get: (key) => entries.get(key),
    put(entry) {
      missing.delete(entry.key);
      // Deleted first: `dispose` of a replaced value would come after the new one is linked.
      entries.delete(entry.key);
      entries.set(entry.key, entry);
      link(entry, entry.key);
    },
    remove: (key) => void entries.delete(key),
    markStale(subjects, now) {
      for (const subject of subjects) {
        for (const key of bySubject.get(subject) ?? []) {
          const entry = entries.peek(key);
          if (entry !== undefined) markStale(entry, now);
          missing.delete(key);
        }
      }
    },
    markAllStale(now) {
      for (const entry of entries.values()) markStale(entry, now);
      missing.clear();
    },
    isMissing(key, now) {
      const known = missing.peek(key);
      if (known === undefined) return false;
      if (now < known.until) return true;
      missing.delete(key);
      return false;
    },
    setMissing(key, ref, until) {
      entries.delete(key);
      missing.delete(key);
      const item = { until, subjects: subjectsOf(ref) };
      missing.set(key, item);
      link(item, key);
    },
    entries: () => entries.size,
    missing: () => missing.size,
  };
}
