import { builtinEnvironments, type Environment } from "vitest/environments";
import { endWorker } from "./worker-end.ts";

/** Node's environment, which ends what suites share when the worker ends; no suite knows that it is the last. */
const environment: Environment = {
  ...builtinEnvironments.node,
  name: "node-with-shared-stages",
  async setup(global, options) {
    const node = await builtinEnvironments.node.setup(global, options);
    return {
      async teardown() {
        await endWorker();
        await node.teardown(global);
      },
    };
  },
};
export default environment;
