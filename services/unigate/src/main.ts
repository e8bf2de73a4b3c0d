import { buildSettings, FlagError, flagHelp, onStopSignals, readFlags, readProcess, type Settings, settingSpecs } from "@unigate/runtime";
import { makeGatewayKey } from "@unigate/secrets";
import { banner } from "./banner.ts";
import { egressAllowFor } from "./egress-default.ts";
import { type RunningHost, startHost } from "./host.ts";
import { serviceNames } from "./module.ts";
import { modules } from "./modules.ts";
import { version } from "./version.ts";

async function main(): Promise<void> {
  const { environment, words } = readProcess();
  const flags = readFlags(words);
  if (flags.help) return print(helpText());
  if (flags.version) return print(version);
  if (flags.listTargets) return print(targetsText());
  if (flags.makeKey) return print(makeGatewayKey());
  const settings = buildSettings(environment, flags.target ?? undefined);
  if (flags.checkConfig !== null) return checkConfig(flags.checkConfig === "" ? settings.configFile : flags.checkConfig, settings);
  const forOnePerson = settings.targets.includes("all");
  const host = await startHost(forOnePerson ? { ...settings, egressAllow: egressAllowFor(settings.host, settings.egressAllow) } : settings);
  // Since the process started, not since this function.
  announce(host, settings, performance.now());
  await untilStopped(host);
}

/** To a launching parent as a message, to a person as text. */
function announce(host: RunningHost, settings: Settings, tookMs: number): void {
  if (process.send !== undefined) process.send({ ready: true, ...host.facts });
  else if (host.facts.httpPort !== undefined)
    print(banner({ host: settings.host, port: host.facts.httpPort, facts: host.facts, tookMs, mode: "one process" }));
  else
    print(
      `Unigate ${version}: ${host.services.join(", ")} on ${host.facts.grpcAddress ?? "no address"}; health and metrics on port ${host.facts.metricsPort}`,
    );
}

function untilStopped(host: RunningHost): Promise<void> {
  return new Promise((resolve) => {
    const stop = (interactive: boolean): void => {
      void host.stop({ interactive }).then(() => {
        unlisten();
        if (process.connected) process.disconnect();
        resolve();
      }, fail);
    };
    const unlisten = onStopSignals(
      ({ interactive }) => stop(interactive),
      () => host.hurry(),
    );
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

async function checkConfig(file: string | null, settings: Settings): Promise<void> {
  if (file === null) throw new FlagError("--check-config needs a file, or UNIGATE_CONFIG");
  const { checkDeclared, problemText } = await import("@unigate/control");
  const { providers } = await import("@unigate/providers");
  const { checkSavedConfig } = await import("./check-saved-config.ts");
  const problems = await checkDeclared(file, { environment: settings.environment, catalogue: providers, checkConfig: checkSavedConfig });
  if (problems.length === 0) return print(`${file}: ok`);
  for (const problem of problems) process.stderr.write(`${problemText(problem)}\n`);
  process.exitCode = 1;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** By name, so that what throws them need not be loaded. */
const EXPECTED = new Set(["FlagError", "SettingError", "TargetError", "DataDirError", "DeclaredError", "SchemaError"]);

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
  if (process.connected) process.disconnect();
}

main().catch(fail);
