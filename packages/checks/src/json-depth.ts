/** Whether a parsed JSON value has more than `levels` levels of objects and arrays. */
export function deeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const item of Object.values(value)) if (deeperThan(item, levels - 1)) return true;
  return false;
}
