import { createControlService, openControlStore } from "@unigate/control";
import { systemClock } from "@unigate/core";
import { providers } from "@unigate/providers";
import { checkCatalogue } from "../check-catalogue.ts";
import { checkSavedConfig } from "../check-saved-config.ts";
import { masterKeySource } from "../master-key.ts";
import type { Host, RunningService } from "../module.ts";

export async function startControl(host: Host): Promise<RunningService> {
  const { settings, database } = host;
  const deps = {
    catalogue: providers,
    checkConfig: checkSavedConfig,
    checks: checkCatalogue,
    sealer: await host.sealer(),
    clock: systemClock,
    log: host.log,
  };
  const store = await openControlStore({
    ...deps,
    configFile: settings.configFile,
    dataDir: settings.dataDir,
    database,
    masterKeySource: masterKeySource(settings),
    environment: settings.environment,
  });
  host.metrics.gauge("unigate_control_saved_things", "saved things in memory", () => store.saved.size());
  host.metrics.gauge("unigate_control_store_reachable", "1 while the store of saved things answers", () => Number(store.saved.reachable()));
  const { admin, workspace } = store.firstKeys;
  return {
    implementation: createControlService(store, { ...deps, requestsPerMinute: settings.managementPerMinute }),
    facts: { ...(admin === undefined ? {} : { adminKey: admin }), ...(workspace === undefined ? {} : { workspaceKey: workspace }) },
    stop: () => store.close(),
  };
}
