import { defineConfig } from "vitest/config";

/** Sources are run directly: the export condition "unigate:source" points every workspace package at its src. */
const source = { resolve: { conditions: ["unigate:source", "node"] }, ssr: { resolve: { conditions: ["unigate:source", "node"] } } };

/** Of projects with property tests. */
const setupFiles = ["test/property-seed.ts"];

const project = (name: string, include: string[], more: object = {}) => ({
  ...source,
  // No file changes what belongs to the process: sharing it saves loading every module again for each of them.
  test: { name, include, isolate: false, testTimeout: 20_000, hookTimeout: 60_000, ...more },
});

export default defineConfig({
  test: {
    maxWorkers: 2,
    teardownTimeout: 30_000,
    projects: [
      project("unit", ["packages/*/src/**/*.test.ts", "services/*/src/**/*.test.ts"], { setupFiles }),
      project("contract", ["test/contract/**/*.test.ts"], { setupFiles }),
      project("architecture", ["test/architecture/**/*.test.ts"]),
      project("helm", ["test/helm/**/*.test.ts"], { testTimeout: 60_000, hookTimeout: 120_000 }),
      project("conformance", ["test/conformance/**/*.test.ts"]),
      // Each file imports suites of other projects, over engines of its own.
      project("containers", ["test/containers/**/*.test.ts"], { setupFiles, isolate: true, hookTimeout: 120_000 }),
      project("robustness", ["test/robustness/**/*.test.ts"], { testTimeout: 60_000, hookTimeout: 120_000 }),
      project("e2e", ["test/e2e/**/*.test.ts"], {
        environment: "./test/e2e/worker-environment.ts",
        testTimeout: 60_000,
        hookTimeout: 120_000,
      }),
    ],
  },
});
