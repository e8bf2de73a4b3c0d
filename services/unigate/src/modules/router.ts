import { systemClock } from "@unigate/core";
import { createRouterService } from "@unigate/router";
import type { RunningService } from "../module.ts";

export async function startRouter(): Promise<RunningService> {
  return { implementation: createRouterService({ draw: Math.random, clock: systemClock }) };
}
