import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, open, readFile, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { KEY_BYTES } from "./sealer.ts";
import { SecretError } from "./secret-error.ts";

const HEX = /^[0-9a-fA-F]{64}$/;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

/** The master key in a text: 32 bytes as base64 (or base64url) or hex. `source` names the setting or file in the error. */
export function parseMasterKey(text: string, source = "UNIGATE_MASTER_KEY"): Buffer {
  const trimmed = text.trim();
  if (HEX.test(trimmed)) return Buffer.from(trimmed, "hex");
  if (BASE64.test(trimmed)) return Buffer.from(trimmed, "base64");
  throw new SecretError(
    "bad_master_key",
    `${source} must be 32 bytes as base64 (44 characters) or hex (64 characters); it has ${trimmed.length} characters`,
  );
}

/** The master key kept in `file` (base64, mode 0600), made on the first start. Safe when two processes start at once. */
export async function loadOrMakeMasterKey(file: string): Promise<Buffer> {
  const known = await readKeyFile(file);
  if (known !== null) return known;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
  await writeDraft(draft);
  try {
    // A link, unlike a rename, never replaces the key that another process made meanwhile.
    await link(draft, file);
  } catch (reason) {
    if (!isCode(reason, "EEXIST")) throw reason;
  } finally {
    await unlink(draft);
  }
  const made = await readKeyFile(file);
  if (made === null) throw new SecretError("bad_master_key", `${file} vanished while it was made`);
  return made;
}

async function writeDraft(file: string): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(`${randomBytes(KEY_BYTES).toString("base64")}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Null when there is no such file. A file that others may read is closed to them. */
async function readKeyFile(file: string): Promise<Buffer | null> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (reason) {
    if (isCode(reason, "ENOENT")) return null;
    throw reason;
  }
  if (((await stat(file)).mode & 0o077) !== 0) await chmod(file, 0o600);
  return parseMasterKey(text, file);
}

function isCode(reason: unknown, code: string): boolean {
  return reason instanceof Error && "code" in reason && reason.code === code;
}
