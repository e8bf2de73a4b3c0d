import { createControlService, openControlStore } from "@unigate/control";
import { systemClock } from "@unigate/core";
import { providers } from "@unigate/providers";
import { checkSavedConfig } from "../check-saved-config.ts";
import type { Host, RunningService } from "../module.ts";

export async function startControl(host: Host): Promise<RunningService> {
  const { settings } = host;
  const store = await openControlStore({
    configFile: settings.configFile,
    dataDir: settings.dataDir,
    environment: settings.environment,
    catalogue: providers,
    checkConfig: checkSavedConfig,
    sealer: await host.sealer(),
    clock: systemClock,
    log: host.log,
  });
  const { admin, workspace } = store.firstKeys;
  return {
    implementation: createControlService(store),
    facts: { ...(admin === undefined ? {} : { adminKey: admin }), ...(workspace === undefined ? {} : { workspaceKey: workspace }) },
    stop: async () => store.close(),
  };
}
