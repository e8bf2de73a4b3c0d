import { buildSettings, FlagError, flagHelp, onStopSignals, readFlags, readProcess, type Settings, settingSpecs } from "@unigate/runtime";
import { makeGatewayKey } from "@unigate/secrets";
import { banner, firstKeyLines } from "./banner.ts";
import { refuseEmbedded } from "./database.ts";
import { egressAllowFor } from "./egress-default.ts";
import { endSoon } from "./end-soon.ts";
import { type RunningHost, startAlone } from "./host.ts";
import { serviceNames } from "./module.ts";
import { modules, startOrder } from "./modules.ts";
import { version } from "./version.ts";
import { readAssignment } from "./workers/messages.ts";
import { splitServices, workerCount } from "./workers/split.ts";

async function main(): Promise<void> {
  const { environment, words } = readProcess();
  const flags = readFlags(words);
  if (flags.help) return print(helpText());
  if (flags.version) return print(version);
  if (flags.listTargets) return print(targetsText());
  if (flags.makeKey) return print(makeGatewayKey());
  const asked = buildSettings(environment, flags.target ?? undefined, flags.workers ?? undefined);
  const forOnePerson = asked.targets.includes("all");
  const settings = forOnePerson ? { ...asked, egressAllow: await egressAllowFor(asked.host, asked.egressAllow) } : asked;
  const workers = workerCount(settings);
  if (flags.exportTo !== null) return exportSavedThings(flags.exportTo, settings);
  if (flags.importFrom !== null) return importSavedThings(flags.importFrom, settings);
  if (flags.migrate) return migrate(settings);
  refuseSharedDatabase(settings, workers);
  if (flags.checkConfig !== null) return checkConfig(flags.checkConfig === "" ? settings.configFile : flags.checkConfig, settings);
  const assignment = readAssignment(environment);
  if (assignment !== null) return (await import("./workers/worker.ts")).runWorker(settings, assignment);
  const hasStarted = endWhileStarting();
  const host = workers === 1 ? await startAlone(settings) : await (await import("./workers/primary.ts")).startPrimary(settings, workers);
  // Since the process started, not since this function.
  announce(host, settings, { tookMs: performance.now(), mode: workers === 1 ? "one process" : `${workers} workers` });
  await untilStopped(host, hasStarted);
}

/**
 * Ends the process at a signal: the first process of a container gets none that it does not listen to, and could not be
 * ended before it is ready. Returns how to stop listening.
 */
function endWhileStarting(): () => void {
  return onStopSignals(
    ({ interactive }) => process.exit(interactive ? 130 : 143),
    () => {},
  );
}

/** An embedded database serves one process with all services. */
function refuseSharedDatabase(settings: Settings, workers: number): void {
  if (settings.database?.kind !== "pglite") return;
  const names = startOrder(settings.targets, settings.addresses);
  if (names.length < serviceNames.length) refuseEmbedded(settings, `a process with ${names.join(", ")} only`);
  if (workers > 1) refuseEmbedded(settings, `${workers} workers`);
}

/** To a launching parent as a message, to a person as text. */
function announce(host: RunningHost, settings: Settings, how: { readonly tookMs: number; readonly mode: string }): void {
  if (process.send !== undefined) process.send({ ready: true, ...host.facts });
  else if (host.facts.httpPort !== undefined) print(banner({ host: settings.host, port: host.facts.httpPort, facts: host.facts, ...how }));
  else {
    const where = `${host.facts.grpcAddress ?? "no address"}; health and metrics on port ${host.facts.metricsPort}`;
    print([`Unigate ${version}: ${host.services.join(", ")} on ${where}`, ...firstKeyLines(host.facts)].join("\n"));
  }
}

function untilStopped(host: RunningHost, onListening: () => void): Promise<void> {
  return new Promise((resolve) => {
    const stop = (interactive: boolean): void => {
      void host.stop({ interactive }).then(() => {
        unlisten();
        endSoon();
        resolve();
      }, fail);
    };
    const unlisten = onStopSignals(
      ({ interactive }) => stop(interactive),
      () => host.hurry(),
    );
    onListening();
    if (process.send !== undefined) process.once("disconnect", () => stop(true));
  });
}

function helpText(): string {
  const rows = (list: readonly (readonly [string, string])[]): string =>
    list.map(([name, help]) => `  ${name.padEnd(30)} ${help}`).join("\n");
  const settings = Object.entries(settingSpecs).map(
    ([name, spec]) => [name, `${spec.help}${spec.default === null ? "" : ` (default ${spec.default})`}`] as const,
  );
  return `Unigate ${version}: an AI gateway\n\nusage: unigate [options]\n\n${rows(flagHelp)}\n\nenvironment:\n${rows(settings)}\n  ${"UNIGATE_<SERVICE>_ADDR".padEnd(30)} gRPC address of a service that runs elsewhere`;
}

function targetsText(): string {
  const lines = serviceNames.map((name) =>
    `${name.padEnd(10)} ${modules[name].needs.length === 0 ? "" : `needs ${modules[name].needs.join(", ")}`}`.trimEnd(),
  );
  return ["all        every service below, in one process", ...lines].join("\n");
}

/** Also says who would run what, which fails as the start would. */
async function checkConfig(file: string | null, settings: Settings): Promise<void> {
  if (file === null) throw new FlagError("--check-config needs a file, or UNIGATE_CONFIG");
  const { checkDeclared, problemText } = await import("@unigate/control");
  const { providers } = await import("@unigate/providers");
  const { checkSavedConfig } = await import("./check-saved-config.ts");
  const workers = workerCount(settings);
  const split = workers === 1 ? null : splitServices(settings);
  const { checkCatalogue } = await import("./check-catalogue.ts");
  const problems = await checkDeclared(file, {
    environment: settings.environment,
    catalogue: providers,
    checkConfig: checkSavedConfig,
    checks: checkCatalogue,
  });
  if (split !== null)
    print(`${workers} workers with ${split.worker.join(", ")}; beside them one process with ${split.primary.join(", ") || "no service"}`);
  if (problems.length === 0) return print(`${file}: ok`);
  for (const problem of problems) process.stderr.write(`${problemText(problem)}\n`);
  process.exitCode = 1;
}

async function exportSavedThings(file: string, settings: Settings): Promise<void> {
  const { exportTo } = await import("./transfer.ts");
  process.stdout.write(await exportTo(file, settings));
}

async function importSavedThings(file: string, settings: Settings): Promise<void> {
  const { importFrom } = await import("./transfer.ts");
  const { added, problems } = await importFrom(file, settings);
  if (problems.length === 0) return print(`${file}: ${added} saved things are new`);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.stderr.write("unigate: nothing was imported\n");
  process.exitCode = 1;
}

async function migrate(settings: Settings): Promise<void> {
  const { migrateDatabase } = await import("./migrate.ts");
  for (const line of await migrateDatabase(settings)) print(line);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** By name, so that what throws them need not be loaded. */
const EXPECTED = new Set([
  "FlagError",
  "SettingError",
  "CertificateError",
  "TargetError",
  "DataDirError",
  "DeclaredError",
  "SchemaError",
  "SavedStoreError",
  "SavedUnavailable",
]);

/** Mistakes of the person who starts it are told in one line; anything else with its stack. */
function fail(error: unknown): void {
  const text =
    error instanceof Error
      ? EXPECTED.has(error.name) || error.message.startsWith("cannot listen")
        ? error.message
        : (error.stack ?? error.message)
      : String(error);
  process.stderr.write(`unigate: ${text}\n`);
  process.exitCode = 1;
  endSoon();
}

main().catch(fail);
