/** What the endpoints are called in policies, by their path below /v1 (spec 2.16). */
const ENDPOINT_TYPES: Readonly<Record<string, string>> = {
  "/chat/completions": "chatComplete",
  "/completions": "complete",
  "/embeddings": "embed",
  "/messages": "messages",
  "/responses": "createModelResponse",
  "/rerank": "rerank",
  "/moderations": "moderate",
  "/images/generations": "imageGenerate",
  "/images/edits": "imageEdit",
  "/audio/speech": "createSpeech",
  "/audio/transcriptions": "createTranscription",
  "/audio/translations": "createTranslation",
  "/files": "uploadFile",
  "/batches": "createBatch",
  "/fine_tuning/jobs": "createFinetune",
};

/** The endpoint type of a path below /v1; "proxy" for one without a name of its own. */
export function endpointTypeOf(path: string): string {
  return Object.hasOwn(ENDPOINT_TYPES, path) ? (ENDPOINT_TYPES[path] ?? "proxy") : "proxy";
}
