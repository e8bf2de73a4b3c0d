import { randomBytes } from "node:crypto";

const MOST_WORDS = 40;

/** "pc-my-chat-3f9a01bc" of "My chat!": readable, and never given twice. */
export function newSlug(prefix: string, name: string): string {
  const words = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, MOST_WORDS)
    .replace(/^-|-$/g, "");
  return `${prefix}${words === "" ? "" : `${words}-`}${randomBytes(4).toString("hex")}`;
}
