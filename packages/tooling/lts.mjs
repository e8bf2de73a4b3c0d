// The unit, contract and end-to-end suites on the long-term releases of Node: runner, gateway and services.
import { nodeReleases } from "./node-release.mjs";
import { runSuites } from "./suites.mjs";

const PROJECTS = ["--project", "unit", "--project", "contract", "--project", "e2e"];

/** What asks for engines and for time. */
const MORE = /^(?:UNIGATE_(?:REQUIRE|TEST_LONG|TEST_PGLITE|\w+_URL|KAFKA_\w+)|DOCKER_HOST)$/;

/**
 * One result for each release; `words` go to vitest in place of the projects. `essence`: without engines and long suites,
 * whatever the machine has. A release that cannot be had counts as one failed test.
 */
export async function runOnLts({ words = PROJECTS, essence = false } = {}) {
  const environment = essence ? Object.fromEntries(Object.entries(process.env).filter(([name]) => !MORE.test(name))) : process.env;
  const results = [];
  try {
    for (const { version, file } of nodeReleases())
      results.push(await runSuites({ title: `Suites on Node ${version}`, words, node: file, environment }));
  } catch (error) {
    results.push({ passed: 0, skipped: 0, failed: 1, failures: [`Suites on another Node: ${error.message}`] });
  }
  return results;
}
