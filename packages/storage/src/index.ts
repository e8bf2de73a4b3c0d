export { createMemoryBreakers } from "./breakers/memory.ts";
export {
  type BreakerDelta,
  type BreakerExchange,
  type BreakerExchangeReply,
  type Breakers,
  type ChangedBreaker,
  GRANT_MS,
  KEEP_MS,
  MOST_TARGETS,
  PROBE_MS,
  type Probe,
} from "./breakers/port.ts";
export { createRedisBreakers, type RedisBreakersOptions } from "./breakers/redis.ts";
export { createMemoryCounters, type MemoryCounters, type MemoryCountersOptions } from "./counters/memory.ts";
export {
  type Counters,
  CountersFullError,
  type Left,
  type Measure,
  type PeekCall,
  type RenewCall,
  type ReserveCall,
  type ReserveResult,
  type ScopeResult,
  type SettleCall,
  type Take,
} from "./counters/port.ts";
export { createRedisCounters, type RedisCountersOptions } from "./counters/redis.ts";
export { createMemoryKeyValue, type MemoryKeyValueOptions } from "./key-value/memory.ts";
export type { KeyValue, KeyValueStatistics } from "./key-value/port.ts";
export { createRedisKeyValue, type RedisKeyValueOptions } from "./key-value/redis.ts";
export { createMemoryMeasurements } from "./measurements/memory.ts";
export {
  averaged,
  type InFlightDelta,
  type LatencyDelta,
  type Measurement,
  type MeasurementExchange,
  type Measurements,
} from "./measurements/port.ts";
export { createRedisMeasurements } from "./measurements/redis.ts";
export { type RedisAddress, RedisAddressError, readRedisAddress } from "./redis/address.ts";
export { type GuardStatistics, type LossReason, StoreLostError } from "./redis/guard.ts";
export { openRedis, type RedisLink, type RedisLinkOptions } from "./redis/link.ts";
