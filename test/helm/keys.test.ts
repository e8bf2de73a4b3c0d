import { parseMasterKey } from "@unigate/secrets";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { chart, FULL_NAME, helm, NAMESPACE, objectsOf, RELEASE, render, type Values } from "./chart.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { only, secretData } from "./pods.ts";

const KEYS = `${FULL_NAME}-keys`;

describe.skipIf(!helm.available)("keys that nobody gave", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  beforeEach(() => cluster.secrets.clear());
  afterAll(() => cluster.stop());

  /** What `helm install` would do in the cluster: its objects and its notes. */
  function install(values: Values): Promise<string> {
    return cluster.install([RELEASE, chart, "--namespace", NAMESPACE, "-f", "-"], JSON.stringify(values));
  }

  async function keysOf(values: Values): Promise<Readonly<Record<string, string>>> {
    const [, manifest = ""] = (await install(values)).split("\nMANIFEST:\n");
    return secretData(only(objectsOf(manifest.split("\nNOTES:\n")[0] ?? ""), "Secret", KEYS));
  }

  test("are made at the first installation, of the forms that the program wants", async () => {
    const keys = await keysOf({ mode: "mesh" });
    expect(Object.keys(keys).sort()).toEqual(["admin-key", "master-key", "mesh-token"]);
    expect(parseMasterKey(keys["master-key"] ?? "")).toHaveLength(32);
    expect(keys["admin-key"]).toMatch(/^ugadmin-[A-Za-z0-9]{48}$/);
    expect(keys["mesh-token"]).toMatch(/^[A-Za-z0-9]{48}$/);
    const others = await keysOf({ mode: "mesh" });
    for (const [name, text] of Object.entries(keys)) expect(others[name]).not.toBe(text);
  });

  test("are kept by every later version, whatever is added", async () => {
    const first = await keysOf({});
    expect(Object.keys(first).sort()).toEqual(["admin-key", "master-key"]);
    cluster.secrets.set(`${NAMESPACE}/${KEYS}`, encoded(first));
    expect(await keysOf({})).toEqual(first);
    expect(await keysOf({ mode: "mesh" })).toMatchObject(first);
    expect(await keysOf({ mode: "mesh" })).toHaveProperty("mesh-token");
  });

  test("give way to those of the values", async () => {
    cluster.secrets.set(`${NAMESPACE}/${KEYS}`, encoded({ "admin-key": "former-admin-key", "master-key": "1".repeat(64) }));
    const keys = await keysOf({ adminKey: { value: "the-new-admin-key" } });
    expect(keys).toEqual({ "admin-key": "the-new-admin-key", "master-key": "1".repeat(64) });
  });

  test("are not made where Secrets are given, and outlive the release where they are", () => {
    const given = { existingSecret: { name: "given" } };
    const objects = render({ mode: "mesh", adminKey: given, masterKey: given, mesh: { token: given } });
    expect(objects.filter(({ kind }) => kind === "Secret")).toEqual([]);
    expect(only(render({}), "Secret", KEYS).metadata.annotations).toEqual({ "helm.sh/resource-policy": "keep" });
  });

  test.each<[Values, readonly string[]]>([
    [
      {},
      [
        `rollout status statefulset/${FULL_NAME}-single`,
        `get secret ${KEYS} -o jsonpath='{.data.admin-key}'`,
        `service/${FULL_NAME} 8080:80`,
        `Back up the Secret ${KEYS}`,
      ],
    ],
    [
      {
        mode: "compact",
        service: { port: 81 },
        adminKey: { existingSecret: { name: "given", key: "admin.key" } },
        masterKey: { existingSecret: { name: "given" } },
      },
      [`rollout status deployment/${FULL_NAME}-edge`, "get secret given -o jsonpath='{.data.admin\\.key}'", `service/${FULL_NAME} 8080:81`],
    ],
  ])("the notes of %j say what to do next", async (values, expected) => {
    const [, notes = ""] = (await install(values)).split("\nNOTES:\n");
    for (const text of expected) expect(notes).toContain(text);
    expect(notes.match(/^\d\. /gm)).toEqual(["1. ", "2. ", "3. "]);
    expect(notes.includes("Back up the Secret")).toBe(expected.some((text) => text.startsWith("Back up")));
  });
});

function encoded(keys: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(keys).map(([name, text]) => [name, Buffer.from(text).toString("base64")]));
}
