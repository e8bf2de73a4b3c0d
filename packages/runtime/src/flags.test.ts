import { expect, test } from "vitest";
import { FlagError, type Flags, flagHelp, readFlags } from "./flags.ts";

const NONE: Flags = {
  help: false,
  version: false,
  listTargets: false,
  checkConfig: null,
  exportTo: null,
  importFrom: null,
  makeKey: false,
  migrate: false,
  target: null,
  workers: null,
};

test.each<[string[], Partial<Flags>]>([
  [[], {}],
  [["--help"], { help: true }],
  [["-h"], { help: true }],
  [["--version"], { version: true }],
  [["--list-targets"], { listTargets: true }],
  [["--make-key"], { makeKey: true }],
  [["--migrate"], { migrate: true }],
  [["--target=edge,router"], { target: "edge,router" }],
  [["--target", "edge,router"], { target: "edge,router" }],
  [["--target="], { target: "" }],
  [["--target=a", "--target", "b"], { target: "b" }],
  [["--workers=4"], { workers: "4" }],
  [["--workers", "auto", "--target=all"], { workers: "auto", target: "all" }],
  [["--workers", "-1"], { workers: "-1" }],
  [["--check-config"], { checkConfig: "" }],
  [["--check-config", "a.yaml"], { checkConfig: "a.yaml" }],
  [["--check-config=a=b.yaml"], { checkConfig: "a=b.yaml" }],
  [["--check-config", "--help"], { checkConfig: "", help: true }],
  [["--export"], { exportTo: "" }],
  [["--export=a.ndjson"], { exportTo: "a.ndjson" }],
  [["--import", "a.ndjson"], { importFrom: "a.ndjson" }],
  [["--target", "edge", "--version"], { target: "edge", version: true }],
])("%j", (words, flags) => {
  expect(readFlags(words)).toEqual({ ...NONE, ...flags });
});

test.each([
  [["--target"], "--target needs a list, such as --target=edge,connector"],
  [["--target", "--help"], "--target needs a list"],
  [["--workers"], "--workers needs a number from 1 to 64, or auto"],
  [["--tagret=edge"], 'unknown word "--tagret=edge"; --help lists what is understood'],
  [["--import"], "--import needs a file, such as --import=saved.ndjson"],
  [["edge"], 'unknown word "edge"'],
  [["--check-config", "a", "b"], 'unknown word "b"'],
  [[""], 'unknown word ""'],
])("%j is refused", (words, message) => {
  expect(() => readFlags(words)).toThrow(
    expect.objectContaining({ constructor: FlagError, message: expect.stringContaining(message) as string }),
  );
});

test("the help names every word that is understood", () => {
  const names = flagHelp.map(([usage]) => usage.split(/[= ]/)[0] ?? "");
  const withValue = ["--target", "--workers", "--import"];
  for (const name of names) expect(() => readFlags([name, "x"].slice(0, withValue.includes(name) ? 2 : 1))).not.toThrow();
  expect(new Set(names).size).toBe(Object.keys(NONE).length);
});
