export { replayChat } from "./chat/replay.ts";
export { type ChatStream, createChatStream } from "./chat/stream-writer.ts";
export type { ChatChunk, ChatChunkChoice, ChatDelta, ChatToolCallDelta } from "./chat/types.ts";
export { openAiUsage, usageOfOpenAi } from "./chat/usage.ts";
export {
  type Auth,
  type BuildInput,
  defineProvider,
  type LocalAnswer,
  type Provider,
  type ProviderError,
  type Settings,
  type StreamDelta,
  type StreamInput,
  type StreamReader,
  type StreamState,
  type Surface,
  type SurfaceName,
  type SurfaceReply,
  type UpstreamRequest,
} from "./define.ts";
export { findProvider, providers } from "./registry.ts";
