import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { chart, helm, root, runHelm } from "./chart.ts";
import { type Cluster, startCluster } from "./cluster.ts";

const pages = ["README.md", "helm/unigate/README.md"];

/** Lines of code blocks that begin with this word. */
function commands(word: string): string[] {
  const blocks = pages.flatMap((page) => [...readFileSync(join(root, page), "utf8").matchAll(/^```\w*\n([\s\S]*?)^```$/gm)]);
  const lines = blocks.flatMap(([, block = ""]) => block.replaceAll(/\\\n\s*/g, "").split("\n"));
  return [...new Set(lines.filter((line) => line.startsWith(`${word} `)))];
}

describe.skipIf(!helm.available)("the documents' commands of helm", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());

  test.each(commands("helm"))("%s", async (line) => {
    const [, action = "", ...words] = line.split(" ");
    if (action === "install") expect(await cluster.install(words)).toContain("\nNOTES:\n");
    else expect(runHelm([action, ...words])).toMatchObject({ code: 0 });
  });

  test("there are some", () => {
    expect(commands("helm").length).toBeGreaterThan(2);
  });
});

test("Secrets are made with the keys that the values look for", () => {
  const values = JSON.stringify(parse(readFileSync(join(chart, "values.yaml"), "utf8")));
  const keys = commands("kubectl").flatMap((line) => [...line.matchAll(/--from-literal=([\w-]+)=/g)].map(([, key = ""]) => key));
  expect(keys.length).toBeGreaterThan(2);
  for (const key of keys) expect(values).toContain(`"key":"${key}"`);
});
