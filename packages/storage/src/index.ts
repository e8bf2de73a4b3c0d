export { createMemoryCounters, type MemoryCounters, type MemoryCountersOptions } from "./counters/memory.ts";
export {
  type Counters,
  CountersFullError,
  type Left,
  type Measure,
  type ReserveCall,
  type ReserveResult,
  type ScopeResult,
  type SettleCall,
  type Take,
} from "./counters/port.ts";
export { createMemoryKeyValue, type MemoryKeyValueOptions } from "./key-value/memory.ts";
export type { KeyValue, KeyValueStatistics } from "./key-value/port.ts";
