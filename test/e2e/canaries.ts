import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Secrets by the way they enter, each its own text, so that a find tells which one leaked. */
export class Canaries {
  readonly #needles = new Map<string, readonly Buffer[]>();

  /** A new secret. It holds characters that URLs and HTML spell otherwise. */
  make(name: string): string {
    return this.add(name, `sk-${name}+${randomBytes(18).toString("base64url")}/=`);
  }

  /** A secret whose form something else decides. */
  add(name: string, text: string): string {
    this.#needles.set(name, spellings(text));
    return text;
  }

  /** The names of those that occur in `place`: plain, URL-encoded, in hex, or in base64 at any offset. */
  foundIn(place: string | Buffer): string[] {
    const bytes = typeof place === "string" ? Buffer.from(place) : place;
    return [...this.#needles].filter(([, needles]) => needles.some((needle) => bytes.includes(needle))).map(([name]) => name);
  }
}

function spellings(text: string): Buffer[] {
  const plain = Buffer.from(text);
  const encoded = [0, 1, 2].flatMap((offset) => {
    // The first and the last characters depend on what stands beside the secret.
    const base64 = Buffer.concat([Buffer.alloc(offset), plain])
      .toString("base64")
      .replace(/=+$/, "")
      .slice(offset === 0 ? 0 : offset + 1, -2);
    return [base64, base64.replaceAll("+", "-").replaceAll("/", "_")];
  });
  const middle = text.slice(4, -4);
  return [...new Set([middle, encodeURIComponent(text), JSON.stringify(text).slice(1, -1), plain.toString("hex"), ...encoded])].map((one) =>
    Buffer.from(one),
  );
}

/** Every regular file below a folder; one that is renamed or removed meanwhile is left out. */
export function filesBelow(folder: string): { path: string; bytes: Buffer; mode: number }[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).flatMap((name) => {
    const path = join(folder, name);
    try {
      const stats = statSync(path);
      return stats.isFile() ? [{ path, bytes: readFileSync(path), mode: stats.mode & 0o777 }] : [];
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
      throw error;
    }
  });
}
