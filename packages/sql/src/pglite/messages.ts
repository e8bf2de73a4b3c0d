// What the thread of the embedded database and the rest of the process tell each other.

export interface WorkerData {
  readonly folder: string;
  /** The folder is not there yet: make it from this file first. */
  readonly image: string | null;
}

export type ToWorker =
  | { readonly kind: "query"; readonly sql: string; readonly parameters: readonly unknown[] }
  /** Ends with a checkpoint, then the thread ends. */
  | { readonly kind: "close" };

export type FromWorker =
  | { readonly kind: "opened" }
  | { readonly kind: "open_failed"; readonly message: string }
  | { readonly kind: "rows"; readonly rows: Record<string, unknown>[]; readonly affected: number; readonly bytea: readonly string[] }
  | { readonly kind: "refused"; readonly message: string; readonly code: string }
  /** The engine itself failed (WebAssembly trap, out of memory); the thread ends. */
  | { readonly kind: "broken"; readonly message: string };
