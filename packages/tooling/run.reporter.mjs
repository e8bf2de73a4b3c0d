import { writeFileSync } from "node:fs";

/** Writes what became of every test to the file that UNIGATE_TEST_REPORT names: { files, outside }, as JSON. */
export default class RunReport {
  onTestRunEnd(modules, unhandledErrors) {
    const files = modules.map((module) => ({
      file: module.moduleId,
      project: module.project.name,
      ok: module.ok(),
      errors: [module, ...module.children.allSuites()].flatMap((suite) => suite.errors()).map(beginning),
      tests: Array.from(module.children.allTests(), (test) => {
        const { state, errors = [] } = test.result();
        return { name: test.fullName, state, error: beginning(errors[0]) };
      }),
    }));
    writeFileSync(process.env.UNIGATE_TEST_REPORT, JSON.stringify({ files, outside: unhandledErrors.map(beginning) }));
  }
}

function beginning({ stack, message } = {}) {
  return (stack ?? message ?? "").split("\n", 3).join("\n  ").slice(0, 600);
}
