// Runs vitest and counts. Its progress is shown as it comes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** Told again at the end. */
const MOST_FAILURES = 25;
/** More files than these do not fail because the machine was busy. */
const MOST_TRIED_AGAIN = 5;

export function secondsSince(started) {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}

/**
 * Runs suites by a Node and gives { passed, skipped, failed, failures }. Every process that they start is of the same
 * Node. With CI=true a few files that failed run once more, by themselves: whole processes on a machine that does other
 * things may fail for that alone. What passes then is named. Seeded runs are not tried again: their seeds would be others.
 */
export async function runSuites({ title, words, node = process.execPath, environment = process.env }) {
  const first = await run({ title, words, node, environment });
  const files = environment.CI === "true" ? filesToTryAgain(first) : [];
  if (files.length === 0) return resultOf(title, first);
  const second = await run({ title: `${title}, ${files.length} files once more`, words: [...words, ...files], node, environment });
  const isKept = ({ file }) => !second.files.some((again) => again.file === file);
  for (const file of second.files.filter((again) => again.ok)) {
    const [before] = failuresOf(first.files.filter((one) => one.file === file.file));
    process.stdout.write(`passed on a second try: ${before}\n`);
  }
  return resultOf(title, { files: [...first.files.filter(isKept), ...second.files], outside: [...first.outside, ...second.outside] });
}

async function run({ title, words, node, environment }) {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "unigate-test-report-"));
  const file = join(folder, "report.json");
  process.stdout.write(`${title}: vitest\n`);
  try {
    const reporters = ["--reporter=default", `--reporter=${join(root, "packages/tooling/run.reporter.mjs")}`];
    const env = { ...environment, PATH: [dirname(node), environment.PATH].join(delimiter), UNIGATE_TEST_REPORT: file };
    const program = join(root, "node_modules/vitest/vitest.mjs");
    const vitest = spawn(node, [program, "run", ...reporters, ...words], { cwd: root, env, stdio: "inherit" });
    const [status] = await once(vitest, "close");
    process.stdout.write(`${title}: vitest ... ${status === 0 ? "ok" : "FAILED"}, ${secondsSince(started)}\n`);
    const report = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { files: [], outside: [] };
    const isTold = status === 0 || report.outside.length > 0 || report.files.some(({ ok }) => !ok);
    if (!isTold) report.outside.push(`vitest ended with ${status}: its output says why, or there was no test at all`);
    return report;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function filesToTryAgain({ files }) {
  const failed = files.filter(({ ok, project }) => !ok && project !== "robustness");
  return failed.length > MOST_TRIED_AGAIN ? [] : failed.map(({ file }) => relative(root, file));
}

/** A suite that could not be read, or set up, counts as one failed test; so does each error outside of tests. */
function resultOf(title, { files, outside }) {
  const count = (states) => files.flatMap(({ tests }) => tests).filter(({ state }) => states.includes(state)).length;
  const failures = [...failuresOf(files), ...outside.map((error) => `an error outside of tests\n  ${error}`)];
  return {
    passed: count(["passed"]),
    skipped: count(["skipped", "pending"]),
    failed: failures.length,
    failures: failures.map((line) => `${title}: ${line}`),
  };
}

/** One text for each failed test, and for each file that failed otherwise: where it is, and the beginning of its first error. */
function failuresOf(files) {
  return files.flatMap(({ file, ok, errors, tests }) => {
    if (ok) return [];
    const failed = tests
      .filter(({ state }) => state === "failed")
      .map(({ name, error }) => `${relative(root, file)} > ${name}\n  ${error}`);
    return failed.length > 0 ? failed : [`${relative(root, file)}\n  ${errors[0] ?? ""}`];
  });
}

/** The last lines of a test command: what failed, once more, and last of all "N passed, N failed". */
export function close(results, started) {
  const sum = (name) => results.reduce((total, result) => total + result[name], 0);
  const failures = results.flatMap((result) => result.failures);
  for (const line of failures.slice(0, MOST_FAILURES)) process.stdout.write(`failed: ${line}\n`);
  if (failures.length > MOST_FAILURES) process.stdout.write(`failed: ${failures.length - MOST_FAILURES} more\n`);
  const [skipped, failed] = [sum("skipped"), sum("failed")];
  if (skipped > 0) process.stdout.write(`${skipped} skipped; each suite that lacks something says above what it needs\n`);
  process.stdout.write(`Took ${secondsSince(started)}\n${sum("passed")} passed, ${failed} failed\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}
