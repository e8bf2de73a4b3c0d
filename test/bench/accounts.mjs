// What the kernel says of the processes under test: who belongs to whom, CPU time, memory.
import { readdirSync, readFileSync } from "node:fs";

const TICKS_A_SECOND = 100;

/** The text of a file below /proc; null when the process is gone. */
function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return null;
  }
}

/** Those after the name, which may have any characters: state, parent, ... */
function statFields(pid) {
  const stat = read(pid, "stat");
  return stat === null ? null : stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** The process and all below it. */
function family(pid) {
  const parents = new Map();
  for (const entry of readdirSync("/proc")) {
    const fields = /^\d+$/.test(entry) ? statFields(entry) : null;
    if (fields !== null) parents.set(Number(entry), Number(fields[1]));
  }
  const members = [pid];
  for (let index = 0; index < members.length; index++)
    for (const [child, parent] of parents) if (parent === members[index]) members.push(child);
  return members;
}

/** User and system time so far of a process and all below it, microseconds by pid. */
export function cpuMicros(pid) {
  const micros = new Map();
  for (const member of family(pid)) {
    const fields = statFields(member);
    if (fields !== null) micros.set(member, ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS_A_SECOND);
  }
  return micros;
}

/** Resident memory of a process and all below it, MiB. */
export function residentMiB(pid) {
  const kib = family(pid).map((member) => Number(/VmRSS:\s+(\d+)/.exec(read(member, "status") ?? "")?.[1] ?? 0));
  return kib.reduce((sum, one) => sum + one, 0) / 1024;
}

/** What each process below `pid`, and itself, is for: its service, or its place. Names by pid. */
export function rolesOf(pid) {
  const members = family(pid);
  const root = members.length === 1 ? "all" : "parent";
  return new Map(
    members.map((member) => {
      const target = /--target=([\w,-]+)/.exec(read(member, "cmdline") ?? "")?.[1];
      return [member, target ?? (member === pid ? root : "worker")];
    }),
  );
}
