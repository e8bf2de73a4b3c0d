import type { CallerTable } from "@unigate/rpc";
import { type ServiceName, serviceNames } from "../module.ts";

const everybody: readonly ServiceName[] = serviceNames;

/**
 * Who may call what in a mesh with certificates; whatever is not here nobody may. By called service, then by the start
 * of a method's path, of which the longest counts.
 */
export const callerTable = {
  control: {
    "/unigate.control.v1.Control/": ["edge"],
    "/unigate.control.v1.Control/Resolve": everybody,
    "/unigate.control.v1.Control/Watch": everybody,
  },
  logging: { "/unigate.logging.v1.Logging/": ["edge"] },
  router: { "/unigate.router.v1.Router/": ["edge"] },
  cache: { "/unigate.cache.v1.Cache/": ["edge"] },
  policy: { "/unigate.policy.v1.Policy/": ["edge"] },
  guardrail: { "/unigate.guardrail.v1.Guardrail/": ["edge"] },
  connector: { "/unigate.connector.v1.Connector/": ["edge"] },
} as const satisfies CallerTable;
