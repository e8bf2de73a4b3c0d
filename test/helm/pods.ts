import type { KubernetesObject } from "./chart.ts";

/** A variable of a container. */
export interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

export interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly Variable[];
  readonly envFrom?: readonly { readonly secretRef: { readonly name: string } }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly securityContext: object;
  readonly resources: object;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly subPath?: string }[];
}

export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: object;
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: { readonly matchLabels: Readonly<Record<string, string>> } }[];
  readonly containers: readonly [Container];
  readonly volumes: readonly {
    readonly name: string;
    readonly secret?: { readonly secretName: string };
    readonly configMap?: { readonly name: string };
  }[];
}

/** What runs pods: of one component, or the migration. */
export interface Workload {
  readonly kind: string;
  readonly name: string;
  readonly component: string;
  readonly replicas: number | undefined;
  readonly selector: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly claims: readonly string[];
  readonly pod: PodSpec;
  readonly container: Container;
}

interface WorkloadSpec {
  readonly replicas?: number;
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly template: { readonly metadata: { readonly labels: Readonly<Record<string, string>> }; readonly spec: PodSpec };
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
}

const COMPONENT = "app.kubernetes.io/component";

/** Every workload among these objects, by its component. */
export function workloadsOf(objects: readonly KubernetesObject[]): Map<string, Workload> {
  const found = objects
    .filter(({ kind }) => ["Deployment", "StatefulSet", "Job"].includes(kind))
    .map((object): Workload => {
      const spec = object["spec"] as WorkloadSpec;
      const labels = spec.template.metadata.labels;
      return {
        kind: object.kind,
        name: object.metadata.name,
        component: labels[COMPONENT] ?? "",
        replicas: spec.replicas,
        selector: spec.selector?.matchLabels ?? {},
        labels,
        claims: (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name),
        pod: spec.template.spec,
        container: spec.template.spec.containers[0],
      };
    });
  return new Map(found.map((workload) => [workload.component, workload]));
}

/** The only object of this kind and name; throws when there is none, or more. */
export function only(objects: readonly KubernetesObject[], kind: string, name: string): KubernetesObject {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  const [object] = found;
  if (object === undefined || found.length > 1) throw new Error(`${found.length} objects are a ${kind} named ${name}; expected one`);
  return object;
}

/** Its form is known to whoever asks. */
export function specOf(object: KubernetesObject): unknown {
  return object["spec"];
}

/** The value of each plain variable. */
export function plainVariables({ env }: Pick<Container, "env">): Readonly<Record<string, string>> {
  return Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
}

/** "secret/key" by variable. */
export function secretVariables({ env }: Pick<Container, "env">): Readonly<Record<string, string>> {
  return Object.fromEntries(
    env.flatMap(({ name, valueFrom }) =>
      valueFrom === undefined ? [] : [[name, `${valueFrom.secretKeyRef.name}/${valueFrom.secretKeyRef.key}`]],
    ),
  );
}

/** The keys of a Secret, decoded. */
export function secretData(object: KubernetesObject): Readonly<Record<string, string>> {
  const data = (object["data"] ?? {}) as Readonly<Record<string, string>>;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]));
}
