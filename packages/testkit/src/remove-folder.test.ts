import { mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeFolder } from "./remove-folder.ts";

test("a package loaded after a folder with sockets went finds its own packages", async () => {
  const folder = mkdtempSync(join(tmpdir(), "unigate-sockets-"));
  const server = createServer();
  await new Promise<void>((listening) => server.listen(join(folder, "z.sock"), listening));
  // Its path is known to the loader, which then does not ask again.
  const load = createRequire(new URL("../../rpc/src/index.ts", import.meta.url));
  load.resolve("grpc-health-check");
  removeFolder(folder);
  server.close();
  expect(load.resolve("@grpc/grpc-js")).toContain(".pnpm");
});
