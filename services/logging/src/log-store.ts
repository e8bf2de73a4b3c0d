import type { EncodedRecord } from "@unigate/events";
import type { RecordBodies } from "@unigate/kafka";
import type { LogFilter } from "./filter.ts";

/** Where records are kept. A port: memory and SQL are behind it, and one suite runs over both. */
export interface LogStore {
  /**
   * Keeps records; one whose id is there already on its day is ignored. What is kept when this resolves survives as
   * the store promises. Throws when the store cannot be used now: the same records may come again.
   */
  add(records: readonly NewRecord[]): Promise<AddOutcome>;
  /**
   * Keeps bodies that came apart from their records, before or after them. Those of a record that has its bodies, or
   * that came again, are ignored. Throws as `add` does.
   */
  addBodies(bodies: readonly RecordBodies[]): Promise<AddOutcome>;
  /** Records of a tenant, newest first. */
  list(selection: LogSelection): Promise<LogPage>;
  /** One record of a tenant; null when there is none with this id. */
  get(tenant: LogTenant, id: string): Promise<FoundLog | null>;
  close(): Promise<void>;
}

/** A record on its way into the store. */
export interface NewRecord extends EncodedRecord {
  /** Its bodies are not in its bytes: they come with `addBodies`. */
  readonly bodiesApart?: boolean;
}

export interface AddOutcome {
  readonly stored: number;
  /** Records that came again. */
  readonly duplicates: number;
  /** Records of a time that is not kept any more. */
  readonly expired: number;
  /** Records that can never be stored; sent again they would be refused again. */
  readonly refused: number;
  /** Why, of the first one refused; "" when none was. */
  readonly detail: string;
}

/** Whose records: a workspace sees its own; with an empty workspace id, all of the organisation's. Never empty itself. */
export interface LogTenant {
  readonly organisationId: string;
  readonly workspaceId: string;
}

export interface LogSelection {
  readonly tenant: LogTenant;
  /** Unix ms, inclusive. */
  readonly from: number;
  /** Unix ms, exclusive; 0 = open. */
  readonly to: number;
  readonly filter: LogFilter;
  /** Only what comes after this place; null = from the newest. */
  readonly after: Position | null;
  /** At most so many. */
  readonly limit: number;
}

/** Where a record stands in a list: newest time first, then by id downwards. */
export interface Position {
  /** Unix ms. */
  readonly time: number;
  readonly id: string;
}

export type LogPage =
  | { readonly kind: "page"; readonly rows: readonly LogRow[]; readonly hasMore: boolean }
  /** Too much would have to be looked through: a shorter range of time is needed. */
  | { readonly kind: "too_slow" };

export interface LogRow extends Position {
  /** JSON of the record without its bodies. */
  readonly head: string;
}

export interface FoundLog {
  /** JSON of the record without its bodies. */
  readonly head: string;
  /** JSON of the whole record; bodies that are not kept any more are null and marked as truncated. */
  readonly bytes: Buffer;
}
