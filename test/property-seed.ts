import { relative } from "node:path";
import { configureGlobal, defaultReportMessage, type RunDetails } from "fast-check";
import { expect } from "vitest";

/** Of every property in CI: what fails there was changed there. Elsewhere each run looks somewhere else. */
const CI_SEED = 20_260_101;

const asked = process.env["UNIGATE_TEST_SEED"] ?? "";
const seed = asked !== "" ? Number(asked) : process.env["CI"] === "true" ? CI_SEED : undefined;
if (seed !== undefined && !Number.isSafeInteger(seed))
  throw new Error(`UNIGATE_TEST_SEED is "${asked}"; expected the whole number that a failed property told`);

configureGlobal({ ...(seed === undefined ? {} : { seed }), reporter: failWithCommand });

/** What fast-check says of a property that failed, and the command that fails again. */
function failWithCommand(details: RunDetails<unknown>): void {
  if (!details.failed) return;
  const file = relative(process.cwd(), expect.getState().testPath ?? "");
  const command = `UNIGATE_TEST_SEED=${details.seed} npx vitest run ${file}`;
  throw new Error(`${defaultReportMessage(details)}\n\nThe same again: ${command}`, { cause: details.errorInstance });
}
