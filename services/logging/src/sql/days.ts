const DAY_MS = 86_400_000;

/** Days since 1970, UTC. */
export function dayOf(time: number): number {
  return Math.floor(time / DAY_MS);
}

/** Unix ms at which a day begins. */
export function startOfDay(day: number): number {
  return day * DAY_MS;
}

/** "20261121": the last part of a partition's name. */
export function nameOfDay(day: number): string {
  return new Date(startOfDay(day)).toISOString().slice(0, 10).replaceAll("-", "");
}

/** The day of such a name; null when it is none. */
export function dayOfName(name: string): number | null {
  const match = /^(\d{4})(\d\d)(\d\d)$/.exec(name);
  if (match === null) return null;
  const time = Date.parse(`${match[1]}-${match[2]}-${match[3]}T00:00:00Z`);
  return Number.isNaN(time) ? null : dayOf(time);
}
