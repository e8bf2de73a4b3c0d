import { buildSettings, onStopSignals, readProcess } from "@unigate/runtime";
import { banner } from "./banner.ts";
import { launchMesh } from "./launch-mesh.ts";

/** Starts the eight services as eight processes on this machine, and stops them with it. */
async function main(): Promise<void> {
  const { environment } = readProcess();
  const settings = buildSettings(environment, undefined);
  const mesh = await launchMesh({ environment, settings, onProgress: (text) => process.stderr.write(`${text}\n`) });
  if (process.send !== undefined) process.send({ ready: true, ...mesh.facts });
  else
    process.stdout.write(`${banner({ host: settings.host, port: mesh.httpPort, facts: mesh.facts, tookMs: performance.now(), mode: "eight processes" })}
`);
  await new Promise<void>((resolve) => {
    const stop = (): void => {
      void mesh.stop().then(() => {
        unlisten();
        if (process.connected) process.disconnect();
        resolve();
      });
    };
    const unlisten = onStopSignals(stop, () => mesh.hurry());
    if (process.send !== undefined) process.once("disconnect", stop);
  });
}

main().catch((error: unknown) => {
  process.stderr.write(`unigate: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
