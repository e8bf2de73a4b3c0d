import type { Position } from "./log-store.ts";

/** The opaque text of a place in a list. */
export function cursorOf({ time, id }: Position): string {
  return Buffer.from(`${time}:${id}`).toString("base64url");
}

/** The place that a cursor stands for; null when it is none of ours. */
export function readCursor(cursor: string): Position | null {
  if (cursor.length > 200) return null;
  const match = /^(\d{1,16}):(.{1,64})$/.exec(Buffer.from(cursor, "base64url").toString("utf8"));
  if (match === null) return null;
  const [, time = "", id = ""] = match;
  return { time: Number(time), id };
}
