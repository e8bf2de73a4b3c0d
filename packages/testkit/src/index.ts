export { certificateSource, createTestAuthority, type TestAuthority, type TestCertificateSource, type Validity } from "./certificates.ts";
export {
  framedChunks,
  loadOwnRecordings,
  loadRecordings,
  type OwnCase,
  type OwnError,
  type OwnRecordings,
  type OwnResult,
  type Recording,
  streamBytes,
} from "./fixtures.ts";
export { freePort } from "./free-port.ts";
export {
  type Gateway,
  type GatewayEdge,
  type GatewayMode,
  type GatewayOptions,
  type GatewayService,
  gatewayModes,
  startGateway,
} from "./gateway.ts";
export { type KafkaServer, startKafkaServer } from "./kafka-server.ts";
export { CHAT_USAGE, chatChunk, chatCompletion, chatReply, chatStreamReply, DONE, usageChunk } from "./openai-wire.ts";
export { type RedisServer, startRedisServer } from "./redis-server.ts";
export { removeFolder } from "./remove-folder.ts";
export { type Requirement, type RequirementName, requirement } from "./requirements.ts";
export { type Connection, type Runner, type RunnerOptions, runners } from "./runners.ts";
export { canMountSmallDisk, mountSmallDisk, type SmallDisk } from "./small-disk.ts";
export { until } from "./until.ts";
export { type ReceivedRequest, type Script, startUpstream, type Upstream } from "./upstream.ts";
export {
  cutReply,
  errorReply,
  hangReply,
  jsonReply,
  type Piece,
  type Reply,
  rawReply,
  replay,
  reply,
  sseReply,
} from "./upstream-reply.ts";
export { type Rewrite, startWeatherProxy, type WeatherProxy } from "./weather-proxy.ts";
