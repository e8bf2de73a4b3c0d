import type { OutgoingMessage } from "./messages.ts";

/** Answers to a message, or a request, that no other time makes smaller. */
export const TOO_LARGE: ReadonlySet<string> = new Set(["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"]);
/** Answers that only somebody who gives rights can change. */
export const FORBIDDEN: ReadonlySet<string> = new Set(["TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"]);

/** A topic that cannot be used, with what to do. The text is the same each time, so that it is told once. */
export class TopicError extends Error {
  override readonly name = "TopicError";
}

export function forbiddenTopic(topic: string, code: string): TopicError {
  return new TopicError(
    `this user may not write to the topic ${topic} (${code}): allow it to (Write and Describe); the records wait until then`,
  );
}

/** Without a right to write anywhere the broker gives no producer's number, whatever the topics. */
export function forbiddenEverywhere(topics: readonly string[], code: string): TopicError {
  return new TopicError(
    `this user may write to no topic (${code}): allow it to write to ${topics.join(", ")} (Write and Describe); the records wait until then`,
  );
}

/** A message that is too large for its topic, as one that the dead topic may have room for. */
export function tooLarge({ topic, key, value, headers }: OutgoingMessage, code: string) {
  // It has no place in its topic.
  const nowhere = { partition: -1, offset: "-1" };
  const detail = `${code}: ${value.length} bytes, more than max.message.bytes of the topic`;
  return { topic, ...nowhere, key, value, headers, reason: "too_large", detail };
}
