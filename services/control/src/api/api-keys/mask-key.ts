/** A key's text as lists show it: the first 2 characters, stars, the last 3 (behaviour 10.4). */
export function maskKey(text: string): string {
  return `${text.slice(0, 2)}********${text.slice(-3)}`;
}
