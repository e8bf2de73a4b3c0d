import type { RunningService } from "../module.ts";
export async function startLogging(): Promise<RunningService> {
  return { implementation: {
    async *append(batches: AsyncIterable<{ spoolId: string; offset: number }>) { for await (const b of batches) yield { spoolId: b.spoolId, offset: b.offset }; },
    queryLogs: async () => ({ json: Buffer.from("{}"), nextCursor: "", failure: undefined }),
    getLog: async () => ({ json: Buffer.from("{}"), nextCursor: "", failure: undefined }),
  } };
}
