import type { Call } from "@unigate/core";
import { RpcError } from "@unigate/rpc";
import { describe, expect, test } from "vitest";
import { routes } from "../routes.ts";
import { createApiDescription } from "./api-description.ts";

const ROUTE = {
  method: "GET",
  path: "/things/{id}",
  summary: "One thing",
  scopes: ["things.read"],
  adminOnly: false,
  query: [],
  body: null,
  answer: {},
};

/** A description over a control that says what `paths` names, or is away. */
function described() {
  const state = { now: 1_000_000, asked: 0, path: "/things/{id}", isAway: false, warned: 0 };
  const control = {
    async describe(_request: object, call: Call) {
      state.asked += 1;
      expect(call.deadline).toBeGreaterThan(state.now);
      if (state.isAway) throw new RpcError("UNAVAILABLE", "away");
      return { routesJson: Buffer.from(JSON.stringify([{ ...ROUTE, path: state.path }])) };
    },
  };
  const log = { warn: () => void (state.warned += 1) };
  const text = createApiDescription({ control, log, clock: { now: () => state.now } }, "1.2.3");
  return { state, pathsOf: async () => Object.keys((JSON.parse(await text()) as { paths: object }).paths) };
}

describe("/openapi.json", () => {
  test("holds the edge's routes and those of control", async () => {
    const own = [...routes.map(({ path }) => `/v1${path}`), "/v1/schemas/config.json"];
    expect((await described().pathsOf()).toSorted()).toEqual([...new Set([...own, "/v1/things/{id}"])].toSorted());
  });

  test("is asked for once by many, and anew after a minute", async () => {
    const { state, pathsOf } = described();
    await Promise.all([pathsOf(), pathsOf()]);
    state.now += 59_999;
    state.path = "/others";
    expect(await pathsOf()).toContain("/v1/things/{id}");
    expect(state.asked).toBe(1);
    state.now += 1;
    expect(await pathsOf()).toContain("/v1/others");
    expect(state.asked).toBe(2);
  });

  test("is what control said last while it is away, and 503 when it never said anything", async () => {
    const { state, pathsOf } = described();
    state.isAway = true;
    await expect(pathsOf()).rejects.toMatchObject({ code: "service_unavailable", status: 503 });
    state.isAway = false;
    const before = await pathsOf();
    state.isAway = true;
    state.now += 60_000;
    expect(await pathsOf()).toEqual(before);
    expect([state.asked, state.warned]).toEqual([3, 2]);
  });
});
