export {
  type Check,
  type CheckInput,
  CheckParameterError,
  type CheckVerdict,
  type ExternalCheck,
  type Outside,
  type PostAnswer,
  type PostFailure,
  type PostRequest,
  type PreparedCheck,
} from "./define.ts";
export { checks } from "./registry.generated.ts";
export { findCheck } from "./registry.ts";
