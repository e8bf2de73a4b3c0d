/** Names at the end the tests that failed at first and passed when tried again (`retry`), with their first failure. */
export default class SecondTries {
  #flaky = [];

  onTestCaseResult(test) {
    if (test.diagnostic()?.flaky) this.#flaky.push(test);
  }

  onTestRunEnd() {
    for (const test of this.#flaky) {
      const [first] = test.result().errors ?? [];
      process.stdout.write(
        `passed on a second try: ${test.module.moduleId} > ${test.fullName}\n  ${(first?.stack ?? first?.message ?? "").split("\n", 2).join("\n")}\n`,
      );
    }
  }
}
