import type { JsonObject } from "@unigate/core";
import { z } from "zod";
import { text } from "./fields.ts";

const MOST_ITEMS = 1_000;
const DEFAULT_ITEMS = 100;

/** A whole number in a query. */
export function wholeNumber(least: number, most: number): z.ZodType<number | undefined> {
  const expected = `expected a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, expected)
    .transform(Number)
    .refine((value) => value >= least && value <= most, expected)
    .meta({ type: "integer", minimum: least, maximum: most })
    .optional();
}

/** Query of a list: pages are counted from 0. */
export const paging = {
  organisation_id: text.optional(),
  current_page: wholeNumber(0, 999_999_999),
  page_size: wholeNumber(1, MOST_ITEMS),
};

/** The page of a list that a query asks for; `total` counts all that match. */
export function listOf<T>(
  all: readonly T[],
  { current_page = 0, page_size = DEFAULT_ITEMS }: { readonly current_page?: number | undefined; readonly page_size?: number | undefined },
  shape: (item: T) => JsonObject,
): JsonObject {
  const size = Math.min(page_size, MOST_ITEMS);
  const from = current_page * size;
  return { object: "list", total: all.length, data: all.slice(from, from + size).map(shape) };
}
