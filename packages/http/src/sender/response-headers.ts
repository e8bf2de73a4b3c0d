/** Names seen, with their lower-case form: spares a conversion for the few names that occur. Bounded. */
const lowerCased = new Map<string, string>();
const MAX_NAMES = 512;
const MAX_NAME_LENGTH = 64;

/**
 * The headers of an answer by lower-case name, values of one name joined with ", ". Without a prototype: a look-up finds
 * headers and nothing else. `raw` alternates names and values, as undici gives them.
 */
export function headerRecord(raw: readonly Buffer[]): Record<string, string> {
  const record: Record<string, string> = Object.create(null) as Record<string, string>;
  const texts = headerTexts(raw);
  for (let index = 0; index + 1 < texts.length; index += 2) {
    const name = lowerCase(texts[index] ?? "");
    const value = texts[index + 1] ?? "";
    const before = record[name];
    record[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return record;
}

/** Names and values in turn, as received: order, case and repetition kept. */
export function headerTexts(raw: readonly Buffer[]): string[] {
  const first = raw[0];
  const last = raw[raw.length - 1];
  if (first === undefined || last === undefined) return [];
  // A head that came in one read lies in one piece of memory: decoded once, then sliced, which halves the cost.
  const memory = first.buffer;
  const base = first.byteOffset;
  const end = last.byteOffset + last.length;
  const whole = last.buffer === memory && end >= base ? Buffer.from(memory, base, end - base).toString("latin1") : "";
  const texts: string[] = [];
  for (const piece of raw) {
    const at = piece.byteOffset - base;
    const inside = whole !== "" && piece.buffer === memory && at >= 0 && at + piece.length <= whole.length;
    texts.push(inside ? whole.slice(at, at + piece.length) : piece.toString("latin1"));
  }
  return texts;
}

function lowerCase(name: string): string {
  const known = lowerCased.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  if (lowerCased.size < MAX_NAMES && name.length <= MAX_NAME_LENGTH) lowerCased.set(Buffer.from(name, "latin1").toString("latin1"), lower);
  return lower;
}
