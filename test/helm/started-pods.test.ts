import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { chart, helm, render, root } from "./chart.ts";
import { podsOf } from "./matrix.ts";
import { type StartedPods, startPods } from "./started-pods.ts";

/** Names of everything that a started gateway shows. */
const shown = new Set<string>();

describe.skipIf(!helm.available).each(["single", "compact"] as const)("the pods of mode %s", (mode) => {
  let pods: StartedPods;
  beforeAll(async () => {
    pods = await startPods(render({ mode }));
  });
  afterAll(() => pods?.stop());

  test("answer the question of the notes, with the admin key of the chart's Secret", async () => {
    const answer = await fetch(`${pods.origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "x-gateway-api-key": pods.adminKey, "x-gateway-provider": "mock", "content-type": "application/json" },
      body: JSON.stringify({ model: "mock-1", messages: [{ role: "user", content: "Hello" }] }),
    });
    expect(await answer.json()).toMatchObject({ choices: [{ message: { content: expect.stringContaining("Hello") as string } }] });
    expect(answer.status).toBe(200);
  });

  test("show their metrics", async () => {
    const pages = await pods.metrics();
    expect(pages).toHaveLength(podsOf(mode).length);
    for (const page of pages) for (const [, name = ""] of page.matchAll(/^# TYPE (\S+)/gm)) shown.add(name);
    expect(shown).toContain("unigate_requests_total");
  });
});

/** Shown only with Redis, and with workers: where they are made. */
const REDIS = ["services/unigate/src/modules/redis.ts", "_redis_open`"] as const;
const BESIDE: Readonly<Record<string, readonly [file: string, text: string]>> = {
  unigate_policy_redis_open: REDIS,
  unigate_cache_redis_open: REDIS,
  unigate_worker_restarts_total: ["services/unigate/src/workers/crew.ts", "unigate_worker_restarts_total"],
};

describe.skipIf(!helm.available).each(["files/rules.yaml", "files/dashboard.json"])("%s", (file) => {
  test("asks only for metrics that there are", () => {
    const text = JSON.stringify(parse(readFileSync(join(chart, file), "utf8")));
    const asked = new Set(text.match(/\b(?:unigate|nodejs|process)_[a-z0-9_]+\b/g));
    expect(asked.size).toBeGreaterThan(8);
    expect([...asked].filter((name) => !shown.has(name) && !(name in BESIDE))).toEqual([]);
    for (const [source, made] of Object.values(BESIDE)) expect(readFileSync(join(root, source), "utf8")).toContain(made);
  });
});
