import type { ChatToolCallDelta } from "../chat/types.ts";

/** A call that the client knows of: its place in the client's list and the arguments text it has. */
interface KnownCall {
  readonly index: number;
  readonly name: string;
  sent: string;
}

/** A call whose block is open upstream. */
export interface OpenCall {
  readonly id: string;
  readonly name: string;
  /** Arguments of the block start, for blocks that bring no pieces. */
  readonly whole: string;
  /** Arguments text so far. */
  text: string;
  /** What the client knows of it; null while it may still be the repetition of `earlier`. */
  known: KnownCall | null;
  readonly earlier: KnownCall | null;
}

/**
 * Numbers the tool calls of a stream and writes their deltas. Now and then the service starts a message anew in the
 * middle of the stream; nothing that was sent can be taken back, so a call that is repeated goes on where its first
 * telling broke off, and only one that turns out different becomes a call of its own.
 */
export interface ToolCallWriter {
  /** The message starts anew: the calls so far may be repeated. */
  restart(): void;
  open(id: string, name: string, whole: string): OpenCall;
  add(call: OpenCall, piece: string): void;
  close(call: OpenCall): void;
}

/** A writer that gives every delta to `emit`. */
export function createToolCallWriter(emit: (delta: ChatToolCallDelta) => void): ToolCallWriter {
  const calls: KnownCall[] = [];
  let repeatable: KnownCall[] = [];

  function announce(call: OpenCall): KnownCall {
    const known: KnownCall = { index: calls.length, name: call.name, sent: "" };
    calls.push(known);
    call.known = known;
    emit({ index: known.index, id: call.id, type: "function", function: { name: call.name, arguments: "" } });
    return known;
  }

  function send(known: KnownCall, text: string): void {
    if (text === "") return;
    known.sent += text;
    emit({ index: known.index, function: { arguments: text } });
  }

  /** Sends what the client lacks of a call that goes on from an earlier telling; false while that cannot be known. */
  function settle(call: OpenCall, earlier: KnownCall, ended: boolean): boolean {
    if (call.text.startsWith(earlier.sent)) {
      call.known = earlier;
      send(earlier, call.text.slice(earlier.sent.length));
      return true;
    }
    if (!ended && earlier.sent.startsWith(call.text)) return false;
    send(announce(call), call.text);
    return true;
  }

  return {
    restart() {
      repeatable = [...calls];
    },
    open(id, name, whole) {
      const next = repeatable.shift() ?? null;
      const call: OpenCall = { id, name, whole, text: "", known: null, earlier: next?.name === name ? next : null };
      if (call.earlier === null) announce(call);
      return call;
    },
    add(call, piece) {
      call.text += piece;
      if (call.known !== null) send(call.known, piece);
      else if (call.earlier !== null && piece !== "") settle(call, call.earlier, false);
    },
    close(call) {
      if (call.text === "") this.add(call, call.whole);
      if (call.known === null && call.earlier !== null) settle(call, call.earlier, true);
    },
  };
}
