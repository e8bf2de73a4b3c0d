import { findCheck } from "@unigate/checks";
import { ControlDefinition } from "@unigate/contracts";
import { systemClock } from "@unigate/core";
import { createGuardrailService, createPost } from "@unigate/guardrail";
import { createEgressGuard, createSender } from "@unigate/http";
import type { Host, RunningService } from "../module.ts";
import { startResolver } from "./resolver.ts";

export async function startGuardrail(host: Host): Promise<RunningService> {
  const resolver = startResolver(host, host.connect("control", ControlDefinition), "guardrail");
  const guard = createEgressGuard({ allow: host.settings.egressAllow ?? "" });
  const sender = createSender({ guard });
  const implementation = createGuardrailService({
    resolver,
    sealer: await host.sealer(),
    findCheck,
    post: createPost(guard, sender),
    clock: systemClock,
  });
  return {
    implementation,
    async stop() {
      sender.close();
      await resolver.stop();
    },
  };
}
