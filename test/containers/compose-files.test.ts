import { readFileSync } from "node:fs";
import { settingSpecs } from "@unigate/runtime";
import { expect, test } from "vitest";
import { parse } from "yaml";

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly [field: string]: unknown;
}

const SERVICES = ["cache", "connector", "control", "edge", "guardrail", "logging", "policy", "router"];
const HAND_OVER_SECONDS = 30;

function servicesOf(file: string): [string, Service][] {
  const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), "utf8");
  const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };
  return Object.entries(services);
}
const ours = ["compose.yaml", "compose.mesh.yaml"].flatMap((file) =>
  servicesOf(file).flatMap(([name, service]) => (service.image.includes("UNIGATE_IMAGE") ? [[file, name, service] as const] : [])),
);

test("the mesh runs each service in a container of its own", () => {
  const targets = ours.flatMap(([file, name, { command }]) => (file === "compose.mesh.yaml" ? [[name, command]] : []));
  expect(Object.fromEntries(targets)).toEqual(Object.fromEntries(SERVICES.map((name) => [name, [`--target=${name}`]])));
});

test.each(ours)("%s: %s may write to its volume only, and has its time to drain", (_file, _name, service) => {
  expect(service).toMatchObject({ read_only: true, tmpfs: ["/tmp"], cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
  // A name of its own, and there could be one of it only.
  expect(service).not.toHaveProperty("container_name");
  const drain = Number(service.environment?.["UNIGATE_DRAIN_SECONDS"]);
  expect(service["stop_grace_period"]).toBe(`${drain + HAND_OVER_SECONDS}s`);
});

test.each(ours)("%s: %s is given settings that there are, and the secrets of its own work only", (file, name, service) => {
  const variables = Object.keys(service.environment ?? {});
  const known = (variable: string): boolean => variable in settingSpecs || /^UNIGATE_[A-Z]+_ADDR$|^[A-Z]+_API_KEY$/.test(variable);
  expect(variables.filter((variable) => !known(variable))).toEqual([]);
  if (file !== "compose.mesh.yaml") return;
  expect(variables.includes("UNIGATE_MASTER_KEY")).toBe(["control", "connector", "guardrail"].includes(name));
  expect(variables.includes("UNIGATE_DATABASE_URL")).toBe(["control", "logging"].includes(name));
  expect(variables.some((variable) => variable.endsWith("_API_KEY"))).toBe(name === "control");
});

test("with certificates each service sees its own, and waits for it", () => {
  const services = Object.fromEntries(servicesOf("compose.mesh-tls.yaml"));
  const { certificates, ...others } = services;
  expect(Object.keys(others).sort()).toEqual(SERVICES);
  for (const [name, service] of Object.entries(others)) {
    expect(service).toMatchObject({
      volumes: [`mesh-${name}:/certificates:ro`],
      depends_on: { certificates: { condition: "service_completed_successfully" } },
    });
    expect(Object.keys(service.environment ?? {})).toEqual(["UNIGATE_MESH_CERT", "UNIGATE_MESH_KEY", "UNIGATE_MESH_CA"]);
  }
  const folders = ["authority", ...SERVICES].map((name) => `mesh-${name}:/certificates/${name}`);
  expect([...(certificates?.volumes ?? [])].sort()).toEqual(folders);
  expect(certificates).toMatchObject({ read_only: true, cap_drop: ["ALL"], network_mode: "none" });
});
