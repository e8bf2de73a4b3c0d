export { type Check, type CheckInput, CheckParameterError, type CheckVerdict, type PreparedCheck } from "./define.ts";
export { checks } from "./registry.generated.ts";
export { findCheck } from "./registry.ts";
