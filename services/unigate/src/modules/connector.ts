import { createBaseUrls, createConnectorService } from "@unigate/connector";
import { systemClock } from "@unigate/core";
import { createEgressGuard, createSender } from "@unigate/http";
import type { Host, RunningService } from "../module.ts";

export async function startConnector(host: Host): Promise<RunningService> {
  const guard = createEgressGuard({ allow: host.settings.egressAllow ?? "" });
  const sender = createSender({ guard });
  host.metrics.gauge("unigate_upstream_exchanges_open", "exchanges with upstreams that are under way", () => sender.stats().open);
  const implementation = createConnectorService({
    sender,
    baseUrls: createBaseUrls(guard),
    sealer: await host.sealer(),
    clock: systemClock,
    maxAnswerBytes: 2 * host.settings.bodyLimit,
  });
  return {
    implementation,
    async stop() {
      sender.close();
    },
  };
}
