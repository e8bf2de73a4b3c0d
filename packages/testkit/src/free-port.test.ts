import { createServer } from "node:net";
import { expect, test, vi } from "vitest";
import { freePort } from "./free-port.ts";

test("a port that somebody listens on is passed over, and no outgoing connection is given one", async () => {
  const first = await freePort();
  expect(first).toBeLessThan(32_768);
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(first, "127.0.0.1", resolve));
  const draw = (first - 20_000 + 0.5) / 10_000;
  const random = vi.spyOn(Math, "random").mockReturnValueOnce(draw).mockReturnValueOnce(draw);
  try {
    expect(await freePort()).not.toBe(first);
    expect(random.mock.calls.length).toBeGreaterThan(2);
  } finally {
    random.mockRestore();
    taken.close();
  }
});
