import { ControlDefinition } from "@unigate/contracts";
import { systemClock } from "@unigate/core";
import { createPolicyService } from "@unigate/policy";
import { createMemoryCounters } from "@unigate/storage";
import type { Host, RunningService } from "../module.ts";
import { startResolver } from "./resolver.ts";

export async function startPolicy(host: Host): Promise<RunningService> {
  const resolver = startResolver(host, host.connect("control", ControlDefinition), "policy");
  const implementation = createPolicyService({
    counters: createMemoryCounters({ clock: systemClock }),
    resolver,
    onStoreLost: (cause) => host.log.warn({ error: String(cause) }, "limits could not be counted; the request passes"),
  });
  return { implementation, stop: () => resolver.stop() };
}
