import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chatReply, chatStreamReply, gatewayModes, removeFolder, requirement, startGateway, startUpstream, until } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { filesBelow } from "./canaries.ts";
import { chat, openConnection, QUESTION, requestHead, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { declaredKey } from "./stage.ts";

describe.skipIf(!requirement("long").available).each(gatewayModes)("a gateway that is killed, %s", (mode) => {
  test("starts again on its folder, and a request that was cut off is in the log as interrupted", async () => {
    const upstream = await startUpstream();
    const folder = mkdtempSync(join(tmpdir(), "unigate-crash-"));
    const { name, key } = declaredKey("crash");
    // The log store is in memory here: in the mesh it would outlive an edge, in one process it begins anew.
    const options = {
      mode,
      env: { UNIGATE_DATA_DIR: folder },
      config: { version: 1, keys: [{ name, key, scopes: ["*"] }] },
    };
    const config = withConfig(target(upstream.origin));
    const first = await startGateway(options);
    upstream.script(chatStreamReply(["first", new Promise(() => {})]));
    const connection = openConnection(first);
    const body = JSON.stringify({ ...QUESTION, stream: true });
    const headers = { "x-gateway-api-key": key, "x-gateway-trace-id": "cut-off", "content-type": "application/json", ...config };
    connection.write(requestHead("POST /v1/chat/completions", { ...headers, "content-length": String(body.length) }) + body);
    await until("the first word", () => connection.received().includes("first"));
    await until("the start to be on disk", () =>
      filesBelow(folder).some(({ path, bytes }) => path.endsWith(".segment") && bytes.includes("cut-off")),
    );
    first.kill("edge", "SIGKILL");
    await until("the end of the connection", () => connection.closed);
    await first.stop();

    const second = await startGateway(options);
    try {
      upstream.script(chatReply("back"));
      expect((await chat(second, key, config)).status).toBe(200);
      // At the latest with the second look for folders that nobody owns.
      const [record] = await until("the record", () => logsOf(second, key, "cut-off", 1), 40_000);
      expect(record).toMatchObject({ outcome: "interrupted", surface: "chat", trace_id: "cut-off" });
    } finally {
      await second.stop();
      await upstream.close();
      removeFolder(folder);
    }
  });
});
