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
import { startCache } from "./modules/cache.ts";
import { startConnector } from "./modules/connector.ts";
import { startControl } from "./modules/control.ts";
import { startEdgeService } from "./modules/edge.ts";
import { startGuardrail } from "./modules/guardrail.ts";
import { startLogging } from "./modules/logging.ts";
import { startPolicy } from "./modules/policy.ts";
import { startRouter } from "./modules/router.ts";

/** The whole mesh: what each service serves, calls and how it starts. */
export const modules: Readonly<Record<ServiceName, ServiceModule>> = {
  control: { definition: ControlDefinition, needs: [], start: startControl },
  logging: { definition: LoggingDefinition, needs: [], start: startLogging },
  router: { definition: RouterDefinition, needs: [], start: startRouter },
  cache: { definition: CacheDefinition, needs: [], start: startCache },
  policy: { definition: PolicyDefinition, needs: ["control"], start: startPolicy },
  guardrail: { definition: GuardrailDefinition, needs: ["control"], start: startGuardrail },
  connector: { definition: ConnectorDefinition, needs: [], start: startConnector },
  edge: { definition: null, needs: ["control", "logging", "router", "cache", "policy", "guardrail", "connector"], start: startEdgeService },
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
