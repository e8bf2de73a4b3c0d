import { chatReply, chatStreamReply, errorReply, gatewayModes, sseReply } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { chat, readStream, withConfig } from "./http.ts";
import { ERROR_EVENT, useStreams } from "./streams.ts";

const HEARTBEAT_MS = 150;

describe.each(gatewayModes)("the heartbeat, %s", (mode) => {
  const { stage, ask, here, two, outcomeOf } = useStreams(mode, { UNIGATE_HEARTBEAT_MS: String(HEARTBEAT_MS) });

  test("keeps a silent stream open; the answer follows", async () => {
    stage.upstream.script(chatStreamReply([3 * HEARTBEAT_MS, "at last"]));
    const answer = await ask(here());
    expect(answer.status).toBe(200);
    expect(answer.text.startsWith(": heartbeat\n\n: heartbeat\n\n")).toBe(true);
    expect(readStream(answer.text)).toMatchObject({ content: "at last", done: true });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("x-gateway-"))).toEqual(["x-gateway-trace-id"]);
  });

  test("also before the upstream's head, and between its words", async () => {
    stage.upstream.script({ ...chatStreamReply(["one", 2 * HEARTBEAT_MS, "two"]), before: [2 * HEARTBEAT_MS] });
    const { text } = await ask(here());
    expect(text.indexOf(": heartbeat")).toBe(0);
    expect(text.slice(text.indexOf('"one"'), text.indexOf('"two"'))).toContain(": heartbeat");
    expect(readStream(text)).toMatchObject({ content: "onetwo", done: true });
  });

  test("still leaves room for a fallback", async () => {
    stage.upstream.script({ ...errorReply(500, "late"), before: [2 * HEARTBEAT_MS] }, chatStreamReply(["from the second"]));
    const { text } = await ask(two());
    expect(text).toContain(": heartbeat");
    expect(readStream(text)).toMatchObject({ content: "from the second", done: true });
  });

  test.each([
    ["a status", { ...errorReply(429, "late"), before: [2 * HEARTBEAT_MS] }, "scripted"],
    ["an error event", sseReply([2 * HEARTBEAT_MS, ERROR_EVENT]), "fire"],
    ["a cut", sseReply([2 * HEARTBEAT_MS], { ending: "cut" }), "upstream_incomplete"],
  ])("then %s: told in-band, without [DONE]", async (_, script, code) => {
    stage.upstream.script(script);
    const answer = await ask(here());
    expect(answer.status).toBe(200);
    expect(answer.text).toContain(": heartbeat");
    expect(readStream(answer.text)).toMatchObject({ done: false, error: { code } });
    expect(await outcomeOf(answer)).toMatchObject({ outcome: "failed", code });
  });

  test("is not for answers that are no stream", async () => {
    stage.upstream.script({ ...chatReply("slow"), before: [2 * HEARTBEAT_MS] });
    const answer = await chat(stage.gateway, stage.key, withConfig(here()));
    expect(answer.json()["choices"]).toMatchObject([{ message: { content: "slow" } }]);
  });
});
