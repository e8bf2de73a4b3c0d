const KIB = 1024;

/** The path of the one method through which shared streams are opened. */
export const OPEN_PATH = "/unigate.rpc.v1.Calls/Open";

/** Larger requests go as plain calls, so that they hold up nobody. */
export const MAX_SHARED_REQUEST_BYTES = 64 * KIB;

/** A batch is closed with the message that reaches this. */
export const BATCH_BYTES = 256 * KIB;

/** What a call or answer takes in a batch beside its payload and message, nearly always less. */
export const MESSAGE_HEAD_BYTES = 100;

/** Longer answers are sent in parts, between which others get their turn. */
export const ANSWER_PART_BYTES = 64 * KIB;

/** Nothing more is written while this much was not taken by HTTP/2. */
export const MAX_UNSENT_BYTES = 256 * KIB;

/** Calls of one stream that a client waits for; more go as plain calls. */
export const MAX_PENDING_CALLS = 10_000;

/** A server that owes this much to one stream, in calls or bytes of answers, reads no more calls of it. */
export const MAX_OWED_CALLS = 2 * MAX_PENDING_CALLS;
export const MAX_OWED_BYTES = 8 * KIB * KIB;

/** Methods that a stream may number; a server has far fewer. */
export const MAX_METHODS = 1_024;

/** Timers do not reach further; such a deadline is none. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;
