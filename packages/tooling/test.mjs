// The test command after set-up: lint, types of the tests, dead code, then every suite. Words after `npm test --` go to
// vitest. The last line is "N passed, N failed", where each check before the suites counts as one test.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** What is checked before the suites: title, program of node_modules/.bin, its words, the folder it runs in. */
const CHECKS = [
  ["Lint: oxlint", "oxlint", ["--type-aware"], root],
  ["Format: biome", "biome", ["check", "."], root],
  ["Lint: buf", "buf", ["lint"], join(root, "proto")],
  ["Types of the tests", "tsc", ["-p", "test/tsconfig.json", "--noEmit"], root],
  ["Dead code: knip", "knip", ["--no-progress"], root],
];

function run(program, words, options) {
  return spawnSync(join(root, "node_modules/.bin", program), words, {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === "win32",
    ...options,
  });
}

function secondsSince(started) {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}

/** Runs one check, a line with its time; its output only when it fails. Says whether it passed. */
function check([title, program, words, cwd]) {
  const started = performance.now();
  process.stdout.write(`${title} ... `);
  const { status, stdout, stderr, error } = run(program, words, { cwd });
  process.stdout.write(`${status === 0 ? "ok" : "FAILED"}, ${secondsSince(started)}\n`);
  if (status !== 0) process.stdout.write(`${stdout ?? ""}${stderr ?? ""}${error === undefined ? "" : `${error.message}\n`}`);
  return status === 0;
}

/** Runs every suite, its progress as it comes. A suite that could not be read at all counts as one failed test. */
function runSuites(words) {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "unigate-test-report-"));
  const file = join(folder, "report.json");
  process.stdout.write("Suites: vitest\n");
  try {
    const { status } = run("vitest", ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${file}`, ...words], {
      cwd: root,
      stdio: "inherit",
    });
    process.stdout.write(`Suites: vitest ... ${status === 0 ? "ok" : "FAILED"}, ${secondsSince(started)}\n`);
    return counts(existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null, status);
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

const started = performance.now();
const checks = CHECKS.map(check);
const suites = runSuites(process.argv.slice(2));
const passed = suites.passed + checks.filter(Boolean).length;
const failed = suites.failed + checks.filter((ok) => !ok).length;

for (const [index, [title]] of CHECKS.entries())
  if (!checks[index]) process.stdout.write(`failed: ${String(title)} (its output is above)\n`);
if (suites.skipped > 0) process.stdout.write(`${suites.skipped} skipped; each suite that lacks something says above what it needs\n`);
process.stdout.write(`Took ${secondsSince(started)}\n${String(passed)} passed, ${String(failed)} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
