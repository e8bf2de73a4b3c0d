import type { ControlPort } from "@unigate/contracts";
import { systemClock } from "@unigate/core";
import { createResolver, type Resolver } from "@unigate/resolve";
import type { Host } from "../module.ts";

/** The client cache over control for one service, watching from now on. */
export function startResolver(host: Host, control: ControlPort, service: string): Resolver {
  let blind = false;
  host.metrics.gauge(
    `unigate_${service}_watch_blind`,
    "1 while no word comes from control, so that what is known may be out of date",
    () => (blind ? 1 : 0),
    "each",
  );
  const resolver = createResolver({
    control,
    clock: systemClock,
    limits: { identityMaxStaleMs: host.settings.identityMaxStaleSeconds * 1_000 },
    onBlind(isBlind) {
      if (isBlind) host.log.warn({ caller: service }, "no word from control; going on with what is known");
      else if (blind) host.log.info({ caller: service }, "control is watched again");
      blind = isBlind;
    },
  });
  resolver.start();
  host.health.add(`${service}: control`, () => (resolver.isReady() ? null : "control has not answered yet"));
  return resolver;
}
