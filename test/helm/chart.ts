import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readProcess } from "@unigate/runtime";
import { type Requirement, requirement } from "@unigate/testkit";
import { parse, parseAllDocuments } from "yaml";

/** Helm, where there is one. */
export const helm: Requirement = requirement("helm");
const { environment } = readProcess();
export const root = fileURLToPath(new URL("../..", import.meta.url));
export const chart = join(root, "helm/unigate");
export const RELEASE = "demo";
export const NAMESPACE = "gateways";
/** Of every object that a template names without a suffix. */
export const FULL_NAME = "demo-unigate";

/** What is given to the chart. */
export type Values = Readonly<Record<string, unknown>>;

/** A Kubernetes object as it was rendered; only what the suites look at is named. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** Runs helm in the project's folder. */
export function runHelm(words: readonly string[], input = "", env: Readonly<Record<string, string>> = {}): Run {
  return run(helm.at, words, input, env);
}

/** Runs kubeconform, which lies beside helm or in PATH. */
export function runKubeconform(words: readonly string[], input: string): Run {
  return run("kubeconform", words, input, { PATH: `${dirname(helm.at)}:${environment["PATH"] ?? ""}` });
}

function run(program: string, words: readonly string[], input: string, env: Readonly<Record<string, string>>): Run {
  const { status, stdout, stderr, error } = spawnSync(program, words, {
    cwd: root,
    input,
    env: { ...environment, ...env },
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined) throw error;
  return { code: status, out: stdout, error: stderr };
}

/** What `helm template` writes; throws with what it says when it refuses. */
export function renderText(values: Values, files: readonly string[] = []): string {
  const { code, out, error } = template(values, files);
  if (code !== 0) throw new Error(`helm template refused ${JSON.stringify(values)}:\n${error}`);
  return out;
}

/** Every object that the chart makes of these values, over those of `files` (in the chart's folder). */
export function render(values: Values, files: readonly string[] = []): KubernetesObject[] {
  return objectsOf(renderText(values, files));
}

export function objectsOf(text: string): KubernetesObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    if ("empty" in document && !("contents" in document)) return [];
    for (const error of document.errors) throw error;
    const object = document.toJS() as KubernetesObject | null;
    return object === null ? [] : [object];
  });
}

/** Why these values are refused; "" when they are not. */
export function refusal(values: Values): string {
  const { code, error } = template(values, []);
  return code === 0 ? "" : error;
}

function template(values: Values, files: readonly string[]): Run {
  const given = files.flatMap((file) => ["-f", join(chart, file)]);
  return runHelm(["template", RELEASE, chart, "--namespace", NAMESPACE, ...given, "-f", "-"], JSON.stringify(values));
}

/** files/services.yaml: the facts that the templates build on. */
export interface Facts {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly needs: readonly string[];
        readonly engines?: readonly string[];
        readonly http?: boolean;
        readonly internet?: boolean;
        readonly masterKey?: boolean;
        readonly administers?: boolean;
      }
    >
  >;
  readonly modes: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

export function parseFacts(text: string): Facts {
  return parse(text) as Facts;
}
