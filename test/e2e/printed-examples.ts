import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A block of code as a document prints it. */
export interface PrintedExample {
  /** The nearest heading above it. */
  readonly title: string;
  /** What stands behind its opening fence: json, yaml, ... */
  readonly language: string;
  readonly text: string;
}

/** The blocks of one section of a document at the top level, in their order. Throws when there is no such section. */
export function printedExamples(page: string, section: string): PrintedExample[] {
  const text = readFileSync(fileURLToPath(new URL(`../../${page}`, import.meta.url)), "utf8");
  const [, body] = new RegExp(`^## ${section}\\n([\\s\\S]*?)(?=^## |$(?![\\s\\S]))`, "m").exec(text) ?? [];
  if (body === undefined) throw new Error(`${page} has no section "${section}"`);
  const examples: PrintedExample[] = [];
  let title = "";
  for (const [, heading, language = "", code = ""] of body.matchAll(/^### (.+)$|^```(\w*)\n([\s\S]*?)^```$/gm)) {
    if (heading !== undefined) title = heading;
    else examples.push({ title, language, text: code });
  }
  return examples;
}
