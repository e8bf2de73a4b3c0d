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

export function secondsSince(started) {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}

/**
 * Runs suites by a Node and gives { passed, skipped, failed, failures }. Every process that they start is of the same
 * Node. A suite that could not be read at all counts as one failed test.
 */
export async function runSuites({ title, words, node = process.execPath, environment = process.env }) {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "unigate-test-report-"));
  const file = join(folder, "report.json");
  process.stdout.write(`${title}: vitest\n`);
  try {
    const reports = [
      "--reporter=default",
      "--reporter=json",
      `--reporter=${join(root, "packages/tooling/second-tries.reporter.mjs")}`,
      `--outputFile.json=${file}`,
    ];
    const env = { ...environment, PATH: [dirname(node), environment.PATH].join(delimiter) };
    const program = join(root, "node_modules/vitest/vitest.mjs");
    const vitest = spawn(node, [program, "run", ...reports, ...words], { cwd: root, env, stdio: "inherit" });
    const [status] = await once(vitest, "close");
    process.stdout.write(`${title}: vitest ... ${status === 0 ? "ok" : "FAILED"}, ${secondsSince(started)}\n`);
    const report = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null;
    return { ...counts(report, status), failures: failuresOf(report, status).map((line) => `${title}: ${line}`) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An exit code that no failed test explains (an unhandled error, a crash, no test at all) is a failure too. */
function counts(report, status) {
  const passed = report?.numPassedTests ?? 0;
  const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
  const unread = (report?.testResults ?? []).filter((suite) => suite.status === "failed" && suite.assertionResults.length === 0);
  const failed = (report?.numFailedTests ?? 0) + unread.length;
  return { passed, skipped, failed: failed === 0 && status !== 0 ? 1 : failed };
}

/** One text for each failed test, or suite that could not be read: where it is, and the beginning of its first failure. */
function failuresOf(report, status) {
  const lines = [];
  for (const { name, message, status, assertionResults } of report?.testResults ?? []) {
    const where = relative(root, name);
    const failed = assertionResults.filter((test) => test.status === "failed");
    for (const test of failed) lines.push(`${where} > ${test.fullName}\n  ${beginning(test.failureMessages?.[0])}`);
    if (status === "failed" && failed.length === 0) lines.push(`${where}\n  ${beginning(message)}`);
  }
  if (lines.length === 0 && status !== 0) lines.push("an error outside of tests (it is told above), or no test at all");
  return lines;
}

function beginning(message = "") {
  return message.split("\n", 3).join("\n  ").slice(0, 600);
}

/** The last lines of a test command: what failed, once more, and last of all "N passed, N failed". */
export function close(results, started) {
  const sum = (name) => results.reduce((total, result) => total + result[name], 0);
  const failures = results.flatMap((result) => result.failures ?? []);
  for (const line of failures.slice(0, MOST_FAILURES)) process.stdout.write(`failed: ${line}\n`);
  if (failures.length > MOST_FAILURES) process.stdout.write(`failed: ${failures.length - MOST_FAILURES} more\n`);
  const [skipped, failed] = [sum("skipped"), sum("failed")];
  if (skipped > 0) process.stdout.write(`${skipped} skipped; each suite that lacks something says above what it needs\n`);
  process.stdout.write(`Took ${secondsSince(started)}\n${sum("passed")} passed, ${failed} failed\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}
