// The words of the command line.
import { cases } from "./cases.mjs";
import { subjects } from "./subjects.mjs";

const names = (list) => list.map(({ name }) => name);
const isName = (text) => text !== "";

/** What each word takes; null = nothing. */
const words = {
  case: { read: listOf(names(cases)), help: "which cases, with commas between them (default: those without * below)" },
  subject: { read: listOf(names(subjects)), help: "which subjects, with commas (default: all but peer); the minimal proxy always runs" },
  rounds: { read: numberFrom(1, Number.isInteger), help: "rounds of each case, whose median counts (default 3, with --long 5)" },
  seconds: { read: numberFrom(0), help: "length of the part at a fixed rate, for latency (default 2.5, with --long 10)" },
  scale: { read: numberFrom(0), help: "factor for all counts of requests (default 1); 0.01 tries whether everything works" },
  json: { read: valid(isName, "a file"), help: "write the results there as JSON" },
  peer: {
    read: (value) => value ?? "",
    help: "add @portkey-ai/gateway when it is installed in, or above, test/bench; =FOLDER: where it is installed",
  },
  profile: {
    read: valid(isName, "a folder"),
    help: "write a CPU profile of each process of the gateway there; the times are then worth little",
  },
  long: { read: null, help: "all cases, more rounds, and the CPU time of each process of workers and mesh" },
  help: { read: null, help: "print this" },
};

/** Throws an Error with a line for the person who typed them. */
export function readOptions(typed) {
  const given = {};
  for (const word of typed) {
    const [, name = "", value] = /^--([a-z]+)(?:=(.*))?$/.exec(word) ?? [];
    if (!Object.hasOwn(words, name)) throw new Error(`unknown word "${word}"; --help lists what is understood`);
    const { read } = words[name];
    if (read === null && value !== undefined) throw new Error(`--${name} takes no value`);
    given[name] = read === null ? true : read(value, name);
  }
  const { long = false, help = false } = given;
  const withPeer = given.peer !== undefined || (given.subject ?? []).includes("peer");
  const asked = given.subject ?? names(subjects).filter((name) => name !== "peer");
  return {
    help,
    cases: cases.filter(({ name, isLong }) => given.case?.includes(name) ?? (long || isLong !== true)),
    subjects: subjects.filter(({ name }) => name === "proxy" || asked.includes(name) || (name === "peer" && withPeer)),
    rounds: given.rounds ?? (long ? 5 : 3),
    seconds: given.seconds ?? (long ? 10 : 2.5),
    scale: given.scale ?? 1,
    json: given.json ?? null,
    peer: given.peer ?? "",
    profile: given.profile ?? null,
    showsProcesses: long,
  };
}

export function helpText() {
  const line = (name, text) => `  ${name.padEnd(18)} ${text}`;
  return [
    "usage: npm run bench -- [words]",
    "",
    ...Object.entries(words).map(([name, { read, help }]) => line(`--${name}${read === null || name === "peer" ? "" : "="}`, help)),
    "",
    "cases (* with --long or --case only):",
    ...cases.map(({ name, about, isLong }) => line(`${name}${isLong ? " *" : ""}`, about)),
    "",
    "subjects:",
    ...subjects.map(({ name, title }) => line(name, title)),
  ].join("\n");
}

function valid(isGood, wanted) {
  return (value = "", name) => {
    if (!isGood(value)) throw new Error(`--${name} needs ${wanted}, such as --${name}=...`);
    return value;
  };
}

function listOf(known) {
  return (value = "", name) => {
    const chosen = value.split(",");
    const odd = chosen.find((item) => !known.includes(item));
    if (odd !== undefined) throw new Error(`--${name}: there is no "${odd}", but ${known.join(", ")}`);
    return chosen;
  };
}

function numberFrom(least, isGood = Number.isFinite) {
  return (value = "", name) => {
    const number = Number(value);
    if (value === "" || !isGood(number) || number < least || number === 0)
      throw new Error(`--${name}: "${value}" is no number that it can use`);
    return number;
  };
}
