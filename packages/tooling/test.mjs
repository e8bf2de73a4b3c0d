// The test command after set-up: lint, types of the tests, dead code, then every suite. Words after `npm test --` go to
// vitest. The last line is "N passed, N failed", where each check before the suites counts as one test.
import { spawn } from "node:child_process";
import { once } from "node:events";
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

function secondsSince(started) {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}

/** Runs one check beside the others; a line with its time, its output only when it fails. Says whether it passed. */
function check([title, program, words, cwd]) {
  const started = performance.now();
  return new Promise((resolve) => {
    let output = "";
    const child = start(program, words, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    const end = (passed, more) => {
      process.stdout.write(`${title} ... ${passed ? "ok" : "FAILED"}, ${secondsSince(started)}\n`);
      if (!passed) process.stdout.write(`${output}${more}`);
      resolve(passed);
    };
    child.once("error", (error) => end(false, `${error.message}\n`));
    child.once("close", (code) => end(code === 0, ""));
  });
}

function start(program, words, options) {
  return spawn(join(root, "node_modules/.bin", program), words, { shell: process.platform === "win32", ...options });
}

/** Runs every suite, its progress as it comes. A suite that could not be read at all counts as one failed test. */
async function runSuites(words) {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "unigate-test-report-"));
  const file = join(folder, "report.json");
  process.stdout.write("Suites: vitest\n");
  try {
    const reports = [
      "--reporter=default",
      "--reporter=json",
      `--reporter=${join(root, "packages/tooling/second-tries.reporter.mjs")}`,
      `--outputFile.json=${file}`,
    ];
    const vitest = start("vitest", ["run", ...reports, ...words], { cwd: root, stdio: "inherit" });
    const [status] = await once(vitest, "close");
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
process.stdout.write(`Checks: ${CHECKS.map(([title]) => title).join(", ")}\n`);
const checks = await Promise.all(CHECKS.map(check));
const suites = await runSuites(process.argv.slice(2));
const passed = suites.passed + checks.filter(Boolean).length;
const failed = suites.failed + checks.filter((ok) => !ok).length;

for (const [index, [title]] of CHECKS.entries())
  if (!checks[index]) process.stdout.write(`failed: ${String(title)} (its output is above)\n`);
if (suites.skipped > 0) process.stdout.write(`${suites.skipped} skipped; each suite that lacks something says above what it needs\n`);
process.stdout.write(`Took ${secondsSince(started)}\n${String(passed)} passed, ${String(failed)} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
