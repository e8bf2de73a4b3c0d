import { findCheck } from "@unigate/checks";
import { ControlDefinition } from "@unigate/contracts";
import { systemClock } from "@unigate/core";
import { createGuardrailService } from "@unigate/guardrail";
import type { Host, RunningService } from "../module.ts";
import { startResolver } from "./resolver.ts";

export async function startGuardrail(host: Host): Promise<RunningService> {
  const resolver = startResolver(host, host.connect("control", ControlDefinition), "guardrail");
  return { implementation: createGuardrailService({ resolver, findCheck, clock: systemClock }), stop: () => resolver.stop() };
}
