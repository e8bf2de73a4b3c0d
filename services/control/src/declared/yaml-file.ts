import { readFile, stat } from "node:fs/promises";
import { deeperThan, MAX_JSON_DEPTH } from "@unigate/core";
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Finding } from "./problem.ts";

/** A YAML file read: its value, and the line of any path in it. */
interface YamlFile {
  readonly value: unknown;
  readonly lineOf: (path: string) => number;
}

export type YamlResult =
  | { readonly ok: true; readonly file: YamlFile }
  | { readonly ok: false; readonly findings: readonly (Finding & { readonly line: number })[] };

const MAX_BYTES = 4 * 1024 * 1024;

/** Reads a file of at most 4 MiB. A file that cannot be read, or is no YAML, gives findings. */
export async function readYaml(path: string): Promise<YamlResult> {
  try {
    const { size } = await stat(path);
    if (size > MAX_BYTES) return failed(`expected at most ${MAX_BYTES} bytes, found ${size}`);
    return parseYaml(await readFile(path, "utf8"));
  } catch (reason) {
    return failed(`cannot be read: ${reason instanceof Error && "code" in reason ? String(reason.code) : "unknown error"}`);
  }
}

/** The value of a YAML text. */
function parseYaml(text: string): YamlResult {
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
    if (document.errors.some(({ code }) => code === "RESOURCE_EXHAUSTION")) return failed("is nested too deeply");
    if (document.errors.length > 0) {
      const findings = document.errors
        .slice(0, 10)
        .map((error) => ({ path: "", line: lines.linePos(error.pos[0]).line, message: error.message }));
      return { ok: false, findings };
    }
    const lineOf = (path: string) => {
      const offset = offsetOf(document.contents, stepsOf(path));
      return offset === null ? 0 : lines.linePos(offset).line;
    };
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    if (deeperThan(value, MAX_JSON_DEPTH)) return failed(`is nested deeper than ${MAX_JSON_DEPTH} levels`);
    return { ok: true, file: { value, lineOf } };
  } catch (reason) {
    return failed(reason instanceof ReferenceError ? "holds too many aliases" : "is nested too deeply");
  }
}

function failed(message: string): YamlResult {
  return { ok: false, findings: [{ path: "", line: 0, message }] };
}

/** "configs[0].config.retry" as ["configs", 0, "config", "retry"]. */
function stepsOf(path: string): (string | number)[] {
  const steps = path.match(/[^.[\]]+/g) ?? [];
  return steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

/** Where the deepest part of the path that exists begins in the text. */
function offsetOf(contents: unknown, steps: readonly (string | number)[]): number | null {
  let at = isNode(contents) ? (contents.range?.[0] ?? null) : null;
  let node: unknown = contents;
  for (const step of steps) {
    if (isSeq(node) && typeof step === "number") node = node.items[step];
    else if (isMap(node)) {
      const pair = node.items.find((item) => (isScalar(item.key) ? String(item.key.value) : "") === String(step));
      if (pair === undefined) return at;
      if (isNode(pair.key)) at = pair.key.range?.[0] ?? at;
      node = pair.value;
      continue;
    } else return at;
    if (isNode(node)) at = node.range?.[0] ?? at;
  }
  return at;
}
