/** Which properties and items of a value some schema has looked at and found good. */
export interface Seen {
  readonly properties: Set<string>;
  readonly items: Set<number>;
  allProperties: boolean;
  allItems: boolean;
}

/** A fresh record where one is kept at all. */
export function seenBeside(seen: Seen | null): Seen | null {
  return seen === null ? null : newSeen();
}

export function newSeen(): Seen {
  return { properties: new Set(), items: new Set(), allProperties: false, allItems: false };
}

export function addSeen(seen: Seen | null, more: Seen | null): void {
  if (seen === null || more === null) return;
  for (const name of more.properties) seen.properties.add(name);
  for (const index of more.items) seen.items.add(index);
  seen.allProperties ||= more.allProperties;
  seen.allItems ||= more.allItems;
}
