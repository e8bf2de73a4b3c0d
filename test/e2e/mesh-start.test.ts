import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { removeFolder, requirement } from "@unigate/testkit";
import { expect, test } from "vitest";

const MESH = fileURLToPath(new URL("../../services/unigate/bin/mesh.js", import.meta.url));

test.skipIf(!requirement("long").available)(
  "a mesh whose first start fails shows the keys that it made: no later start would",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "unigate-mesh-start-"));
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const address = taken.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    try {
      const env = { PATH: process.env["PATH"] ?? "", PORT: String(port), UNIGATE_DATA_DIR: join(folder, "data") };
      const { status, stderr } = spawnSync(process.execPath, [MESH], { cwd: folder, env, encoding: "utf8", timeout: 50_000 });
      expect(status).toBe(1);
      expect(stderr).toMatch(/admin key: {5}ugw-/);
      expect(stderr).toMatch(/workspace key: ugw-/);
      expect(stderr).toContain(`cannot listen on 127.0.0.1:${port}: it is already in use`);
    } finally {
      taken.close();
      removeFolder(folder);
    }
  },
);
