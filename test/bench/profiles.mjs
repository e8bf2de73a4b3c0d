// Gives the CPU profiles of a subject names that say whose they are.
import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";

/** Renames what ended processes wrote into a folder: `edge-<pid>.cpuprofile`; `roles` by pid. */
export function nameProfiles(folder, roles) {
  for (const file of readdirSync(folder)) {
    // CPU.<day>.<time>.<pid>.<thread>.<number>.cpuprofile
    const [kind, , , pid, thread] = file.split(".");
    const role = roles.get(Number(pid));
    if (kind !== "CPU" || role === undefined) continue;
    renameSync(join(folder, file), join(folder, `${role}-${pid}${thread === "0" ? "" : `-thread-${thread}`}.cpuprofile`));
  }
}
