import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readProcess } from "@unigate/runtime";
import { helm, RELEASE, root } from "./chart.ts";

/** As much of the API server of a cluster as Helm asks while it renders: the kinds that there are, and the Secrets. */
export interface Cluster {
  /** Secrets by "namespace/name", their data in base64. */
  readonly secrets: Map<string, Readonly<Record<string, string>>>;
  /** What helm writes when it installs there without doing so; fails with what it says when it refuses. */
  install(words: readonly string[], input?: string): Promise<string>;
  stop(): Promise<void>;
}

/** Kinds by group and version, those that the chart makes. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  v1: ["Secret", "Service", "ServiceAccount", "ConfigMap"],
  "apps/v1": ["Deployment", "StatefulSet"],
  "batch/v1": ["Job"],
  "policy/v1": ["PodDisruptionBudget"],
  "networking.k8s.io/v1": ["NetworkPolicy", "Ingress"],
  "autoscaling/v2": ["HorizontalPodAutoscaler"],
};

const plural = (kind: string): string => (kind.endsWith("y") ? `${kind.slice(0, -1)}ies` : `${kind}s`).toLowerCase();

export async function startCluster(): Promise<Cluster> {
  const secrets = new Map<string, Readonly<Record<string, string>>>();
  const server = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    const answer = answerOf(path, secrets);
    response.writeHead(answer === null ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound", code: 404 }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    secrets,
    install(words, input = "") {
      const env = { ...readProcess().environment, HELM_KUBEAPISERVER: url, KUBECONFIG: "no-such-file" };
      const options = { cwd: root, env, maxBuffer: 64 * 1024 * 1024 };
      return new Promise((resolve, reject) => {
        const child = execFile(
          helm.at,
          ["install", ...words, "--dry-run=server", "--disable-openapi-validation"],
          options,
          (error, out, said) => (error === null ? resolve(out) : reject(new Error(said, { cause: error }))),
        );
        child.stdin?.end(input);
      });
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function answerOf(path: string, secrets: Cluster["secrets"]): object | null {
  if (path === "/version") return { major: "1", minor: "36", gitVersion: "v1.36.0" };
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"] };
  if (path === "/apis") return { kind: "APIGroupList", apiVersion: "v1", groups: groups() };
  const kinds = KINDS[path.replace(/^\/apis?\//, "")];
  if (kinds !== undefined) return { kind: "APIResourceList", groupVersion: path.replace(/^\/apis?\//, ""), resources: kinds.map(resource) };
  const [, namespace = "", name] = /^\/api\/v1\/namespaces\/([^/]+)\/secrets(?:\/([^/]+))?$/.exec(path) ?? [];
  if (namespace === "") return null;
  if (name === undefined) return { kind: "SecretList", apiVersion: "v1", items: [] };
  const data = secrets.get(`${namespace}/${name}`);
  if (data === undefined) return null;
  // As Helm leaves what it made.
  const annotations = { "meta.helm.sh/release-name": RELEASE, "meta.helm.sh/release-namespace": namespace };
  const metadata = { name, namespace, annotations, labels: { "app.kubernetes.io/managed-by": "Helm" } };
  return { kind: "Secret", apiVersion: "v1", metadata, data };
}

function groups(): object[] {
  return Object.keys(KINDS)
    .filter((groupVersion) => groupVersion !== "v1")
    .map((groupVersion) => {
      const [name, version] = groupVersion.split("/");
      return { name, versions: [{ groupVersion, version }], preferredVersion: { groupVersion, version } };
    });
}

function resource(kind: string): object {
  return { name: plural(kind), kind, namespaced: true, verbs: ["get", "list", "create", "update", "delete"] };
}
