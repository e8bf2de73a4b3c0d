export { type Connection, type Runner, type RunnerOptions, runners } from "./runners.ts";
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
