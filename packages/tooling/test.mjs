// The test command after set-up: lint, types of the tests, dead code, then every suite. Words after `npm test --` go to
// vitest. With UNIGATE_TEST_LTS=1 the essence of them runs on the long-term releases of Node too. The last line is
// "N passed, N failed", where each check before the suites counts as one test.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { runOnLts } from "./lts.mjs";
import { close, root, runSuites, secondsSince } from "./suites.mjs";

/**
 * What is checked before the suites: title, program of node_modules/.bin, its words, the folder it runs in. They run beside
 * each other, so threads within the compiler would only check some things more than once.
 */
const CHECKS = [
  ["Lint: oxlint", "oxlint", ["--type-aware"], root],
  ["Format: biome", "biome", ["check", "."], root],
  ["Lint: buf", "buf", ["lint"], join(root, "proto")],
  ["Types of the tests", "tsc", ["-p", "test/tsconfig.json", "--noEmit", "--singleThreaded"], root],
  ["Dead code: knip", "knip", ["--no-progress"], root],
];

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

const started = performance.now();
process.stdout.write(`Checks: ${CHECKS.map(([title]) => title).join(", ")}\n`);
const checks = await Promise.all(CHECKS.map(check));
const refused = CHECKS.filter((_, index) => !checks[index]).map(([title]) => `${String(title)} (its output is above)`);
const results = [
  { passed: checks.length - refused.length, skipped: 0, failed: refused.length, failures: refused },
  await runSuites({ title: "Suites", words: process.argv.slice(2) }),
];
if (process.env.UNIGATE_TEST_LTS === "1") results.push(...(await runOnLts({ essence: true })));

close(results, started);
