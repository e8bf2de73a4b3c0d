import {
  CacheDefinition,
  ConnectorDefinition,
  ControlDefinition,
  GuardrailDefinition,
  LoggingDefinition,
  PolicyDefinition,
  RouterDefinition,
} from "@unigate/contracts";
import { type ServiceModule, type ServiceName, serviceNames } from "./module.ts";

/** The whole mesh: what each service serves, calls and how it starts. A process loads only what it starts. */
export const modules: Readonly<Record<ServiceName, ServiceModule>> = {
  control: {
    definition: ControlDefinition,
    needs: [],
    start: async (host) => (await import("./modules/control.ts")).startControl(host),
  },
  logging: {
    definition: LoggingDefinition,
    needs: [],
    start: async (host) => (await import("./modules/logging.ts")).startLogging(host),
  },
  router: {
    definition: RouterDefinition,
    needs: [],
    start: async (host) => (await import("./modules/router.ts")).startRouter(host),
  },
  cache: {
    definition: CacheDefinition,
    needs: [],
    start: async (host) => (await import("./modules/cache.ts")).startCache(host),
  },
  policy: {
    definition: PolicyDefinition,
    needs: ["control"],
    start: async (host) => (await import("./modules/policy.ts")).startPolicy(host),
  },
  guardrail: {
    definition: GuardrailDefinition,
    needs: ["control"],
    start: async (host) => (await import("./modules/guardrail.ts")).startGuardrail(host),
  },
  connector: {
    definition: ConnectorDefinition,
    needs: [],
    start: async (host) => (await import("./modules/connector.ts")).startConnector(host),
  },
  edge: {
    definition: null,
    needs: ["control", "logging", "router", "cache", "policy", "guardrail", "connector"],
    start: async (host) => (await import("./modules/edge.ts")).startEdgeService(host),
  },
};

/** A target that does not exist, or a needed service that is nowhere. */
export class TargetError extends Error {
  override readonly name = "TargetError";
}

/** The services to run here, in start order: what is needed comes first. */
export function startOrder(targets: readonly string[], addresses: Readonly<Record<string, string>>): ServiceName[] {
  const asked = targets.includes("all") ? [...serviceNames] : targets.map(known);
  const order: ServiceName[] = [];
  const visit = (name: ServiceName): void => {
    if (order.includes(name)) return;
    for (const need of modules[name].needs) {
      if (asked.includes(need)) visit(need);
      else if (addresses[need] === undefined) {
        throw new TargetError(
          `${name} needs ${need}: add it to --target, or set UNIGATE_${need.toUpperCase()}_ADDR to where it runs (such as dns:///unigate-${need}:50051)`,
        );
      }
    }
    order.push(name);
  };
  for (const name of asked) visit(name);
  return order;
}

function known(name: string): ServiceName {
  const found = serviceNames.find((service) => service === name);
  if (found === undefined) throw new TargetError(`there is no service "${name}"; expected all, or some of ${serviceNames.join(", ")}`);
  return found;
}
