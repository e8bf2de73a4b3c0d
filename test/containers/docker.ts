import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { until } from "@unigate/testkit";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Of what is told of a command that failed. */
const SHOWN = 8_000;
const MAX_OUTPUT = 64 * 1024 * 1024;
const QUICK_MS = 30_000;

/**
 * Runs a program in the folder of the project and gives what it wrote to stdout. Fails with the end of all its output
 * when it ends with a failure, or does not end within `deadlineMs`.
 */
export async function run(program: string, words: readonly string[], deadlineMs: number = QUICK_MS): Promise<string> {
  try {
    const limits = { timeout: deadlineMs, killSignal: "SIGKILL", maxBuffer: MAX_OUTPUT } as const;
    return (await promisify(execFile)(program, words, { cwd: ROOT, ...limits })).stdout;
  } catch (error) {
    const { killed, stdout, stderr } = error as { killed?: boolean; stdout?: string; stderr?: string };
    const how = killed === true ? `did not end within ${deadlineMs} ms` : `failed (${String(error).slice(0, 200)})`;
    throw new Error(`${program} ${words.join(" ")} ${how}; it wrote:\n${`${stdout ?? ""}${stderr ?? ""}`.slice(-SHOWN)}`, { cause: error });
  }
}

export function docker(words: readonly string[], deadlineMs?: number): Promise<string> {
  return run("docker", words, deadlineMs);
}

/** What `docker inspect` says of an image or a container. */
export async function inspect<T>(name: string): Promise<T> {
  return (JSON.parse(await docker(["inspect", name])) as [T])[0];
}

/** Waits until a served gateway is ready to take requests; fails with what `logs` gives. */
export async function untilReady(origin: string, deadlineMs: number, logs: () => Promise<string>): Promise<void> {
  const ready = async (): Promise<boolean> => (await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(2_000) })).status === 200;
  await until(`${origin} to be ready`, ready, deadlineMs).catch(async (cause: unknown) => {
    throw new Error(`${origin} was not ready within ${deadlineMs} ms; the log is:\n${(await logs()).slice(-SHOWN)}`, { cause });
  });
}

/** The keys that a first start prints. */
export function firstKeys(log: string): { readonly admin: string; readonly workspace: string } {
  const key = (kind: string): string => {
    const found = new RegExp(`${kind} key: +(ugw-\\S+)`).exec(log)?.[1];
    if (found === undefined) throw new Error(`no ${kind} key in the log:\n${log.slice(-SHOWN)}`);
    return found;
  };
  return { admin: key("admin"), workspace: key("workspace") };
}
