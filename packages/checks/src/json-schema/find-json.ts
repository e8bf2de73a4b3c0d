import { deeperThan, MAX_JSON_DEPTH } from "@unigate/core";

const FENCE = "```";
/** Candidates that are tried, and characters looked at in search of them as a multiple of the text. */
const MAX_CANDIDATES = 50;
const MAX_PASSES = 4;

/**
 * The JSON in a text, in order: the whole text when it is JSON; else what stands in fenced blocks; else every {...} whose
 * braces match. What is not JSON is left out, and what is nested too deep to be looked at.
 */
export function findJson(text: string): unknown[] {
  const whole = parse(text);
  if (whole !== undefined) return [whole];
  const fenced = fencedBlocks(text).map(parse).filter(isJson);
  return fenced.length > 0 ? fenced : bracedParts(text);
}

function isJson(value: unknown): boolean {
  return value !== undefined;
}

/** Undefined = no JSON. JSON has no undefined. */
function parse(text: string): unknown {
  if (!/^\s*[[{"\d\-tfn]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return deeperThan(value, MAX_JSON_DEPTH) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** What stands between fences, the language named after the first one left out. */
function fencedBlocks(text: string): string[] {
  const blocks: string[] = [];
  let open = text.indexOf(FENCE);
  while (open >= 0 && blocks.length < MAX_CANDIDATES) {
    const close = text.indexOf(FENCE, open + FENCE.length);
    if (close < 0) break;
    blocks.push(text.slice(open + FENCE.length, close).replace(/^`*[ \t]*[\w+#.-]*/, ""));
    open = text.indexOf(FENCE, close + FENCE.length);
  }
  return blocks;
}

function bracedParts(text: string): unknown[] {
  const found: unknown[] = [];
  let left = MAX_PASSES * text.length;
  let start = text.indexOf("{");
  for (let tries = 0; start >= 0 && tries < MAX_CANDIDATES && left > 0; tries += 1) {
    const end = endOfBraces(text, start, left);
    left -= (end ?? text.length) - start;
    const value = end === null ? undefined : parse(text.slice(start, end));
    if (value !== undefined) found.push(value);
    start = text.indexOf("{", value === undefined || end === null ? start + 1 : end);
  }
  return found;
}

/** Where the braces that open at `start` are closed, braces within strings not counted; null = nowhere. */
function endOfBraces(text: string, start: number, most: number): number | null {
  const last = Math.min(text.length, start + most);
  let open = 0;
  let inString = false;
  for (let index = start; index < last; index += 1) {
    const unit = text.charCodeAt(index);
    if (inString) {
      if (unit === BACKSLASH) index += 1;
      else if (unit === QUOTE) inString = false;
    } else if (unit === QUOTE) inString = true;
    else if (unit === OPEN) open += 1;
    else if (unit === CLOSE) {
      open -= 1;
      if (open === 0) return index + 1;
    }
  }
  return null;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
