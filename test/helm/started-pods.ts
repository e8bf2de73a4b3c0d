import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, removeFolder, until } from "@unigate/testkit";
import { FULL_NAME, type KubernetesObject, NAMESPACE, root } from "./chart.ts";
import { only, plainVariables, secretData, secretVariables, type Workload, workloadsOf } from "./pods.ts";

const START_MS = 60_000;

/** The pods of a rendered chart as processes of this machine. */
export interface StartedPods {
  /** Of the front. */
  readonly origin: string;
  /** From the chart's Secret. */
  readonly adminKey: string;
  /** The metrics page of each kind of pod. */
  metrics(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

interface Place {
  readonly http: number;
  readonly grpc: number;
  readonly metrics: number;
}

/**
 * Starts each kind of pod once with the arguments and the environment of its container, only on ports and in folders of
 * this machine, and waits until their readiness probes answer.
 */
export async function startPods(objects: readonly KubernetesObject[]): Promise<StartedPods> {
  const folder = mkdtempSync(join(tmpdir(), "unigate-pods-"));
  const pods = [...workloadsOf(objects).values()].filter(({ kind }) => kind !== "Job");
  const places = new Map<string, Place>();
  for (const { component } of pods) places.set(component, { http: await freePort(), grpc: await freePort(), metrics: await freePort() });
  const children = pods.map((pod) => startProcess(pod, environmentOf(pod, objects, places, folder)));
  const page = async (component: string, path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${places.get(component)?.metrics}${path}`);
  const stop = async (): Promise<void> => {
    for (const { process } of children) process.kill("SIGINT");
    await Promise.all(children.map(({ ended }) => ended));
    removeFolder(folder);
  };
  try {
    for (const [index, { component, container }] of pods.entries()) {
      const { path } = container.readinessProbe.httpGet;
      const isReady = async (): Promise<boolean> => {
        const child = children[index];
        if (child?.process.exitCode !== null) throw new Error(`${component} ended:\n${child?.output()}`);
        return page(component, path).then(
          ({ ok }) => ok,
          () => false,
        );
      };
      await until(`${component} is ready`, isReady, START_MS);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const front = pods.find(({ container }) => container.ports.some(({ name }) => name === "http"));
  return {
    origin: `http://127.0.0.1:${places.get(front?.component ?? "")?.http}`,
    adminKey: secretData(only(objects, "Secret", `${FULL_NAME}-keys`))["admin-key"] ?? "",
    metrics: () => Promise.all(pods.map(async ({ component }) => (await page(component, "/metrics")).text())),
    stop,
  };
}

/** What the container would see, at home on this machine. */
function environmentOf(
  { component, container }: Workload,
  objects: readonly KubernetesObject[],
  places: ReadonlyMap<string, Place>,
  folder: string,
): Record<string, string> {
  const own = places.get(component) as Place;
  const secrets = Object.entries(secretVariables(container)).map(([variable, reference]) => {
    const [secret = "", key = ""] = reference.split("/");
    return [variable, secretData(only(objects, "Secret", secret))[key] ?? ""] as const;
  });
  const plain = Object.entries(plainVariables(container)).map(([variable, value]) => {
    const [, home] = new RegExp(`^dns:///${FULL_NAME}-(\\w+)\\.${NAMESPACE}\\.svc:50051$`).exec(value) ?? [];
    return [variable, home === undefined ? value : `127.0.0.1:${places.get(home)?.grpc}`] as const;
  });
  const here = {
    HOST: "127.0.0.1",
    PORT: String(own.http),
    UNIGATE_METRICS_PORT: String(own.metrics),
    UNIGATE_GRPC_LISTEN: `127.0.0.1:${own.grpc}`,
    UNIGATE_DATA_DIR: join(folder, component),
  };
  return { ...Object.fromEntries([...plain, ...secrets]), ...here };
}

function startProcess(
  { container }: Workload,
  env: Record<string, string>,
): { process: ChildProcess; ended: Promise<unknown>; output(): string } {
  const main = join(root, "services/unigate/bin/main.js");
  const child = spawn(process.execPath, [main, ...container.args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  return { process: child, ended: once(child, "close"), output: () => output };
}
