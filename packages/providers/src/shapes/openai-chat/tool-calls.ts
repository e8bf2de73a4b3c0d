import { isObject, type JsonObject } from "@unigate/core";

interface Slot {
  /** The index the vendor gave, null when it gave none. */
  readonly upstream: number | null;
  id: string;
  /** The index the client sees. */
  readonly index: number;
}

/** Gives every streamed tool call an index of its own within its choice, whatever the vendor sent. One a response. */
export interface ToolIndexes {
  /**
   * Puts the piece right in place: its index (missing, or the same for two calls), its id on a first piece (missing),
   * arguments that are an object. Returns whether anything changed.
   */
  repair(choice: number, piece: JsonObject, completionId: string): boolean;
}

/** Indexes of a response that has called nothing yet. */
export function createToolIndexes(): ToolIndexes {
  const choices = new Map<number, Slot[]>();
  return {
    repair(choice, piece, completionId) {
      let slots = choices.get(choice);
      if (slots === undefined) {
        slots = [];
        choices.set(choice, slots);
      }
      const known = slots.length;
      const slot = slotOf(slots, piece);
      let changed = textArguments(piece);
      if (piece["index"] !== slot.index) {
        piece["index"] = slot.index;
        changed = true;
      }
      if (slots.length > known && slot.id === "") {
        slot.id = callId(completionId, choice, slot.index);
        piece["id"] = slot.id;
        changed = true;
      }
      return changed;
    },
  };
}

/** The call that a piece belongs to. A new id begins a new call only with a name: some vendors change the id with every piece. */
function slotOf(slots: Slot[], piece: JsonObject): Slot {
  const upstream = typeof piece["index"] === "number" ? piece["index"] : null;
  const id = idOf(piece);
  const last = upstream === null ? slots.at(-1) : slots.findLast((slot) => slot.upstream === upstream);
  const same = id === "" ? last : (slots.find((slot) => slot.id === id) ?? (isNamed(piece) ? undefined : last));
  if (same !== undefined) return same;
  const taken = upstream === null || upstream < 0 || slots.some((slot) => slot.index === upstream);
  const slot: Slot = { upstream, id, index: taken ? nextIndex(slots) : upstream };
  slots.push(slot);
  return slot;
}

function nextIndex(slots: readonly Slot[]): number {
  let next = 0;
  for (const slot of slots) next = Math.max(next, slot.index + 1);
  return next;
}

function idOf(piece: JsonObject): string {
  const id = piece["id"];
  return typeof id === "string" && id !== "null" ? id : "";
}

function isNamed(piece: JsonObject): boolean {
  const called = piece["function"];
  return isObject(called) && typeof called["name"] === "string" && called["name"] !== "";
}

/** Arguments that came as a JSON object, made its text. */
function textArguments(call: JsonObject): boolean {
  const called = call["function"];
  if (!isObject(called) || !isObject(called["arguments"])) return false;
  called["arguments"] = JSON.stringify(called["arguments"]);
  return true;
}

/** An id for a call that came without one: the same for the same answer. */
function callId(completionId: string, choice: number, index: number): string {
  return `call_${completionId === "" ? "" : `${completionId}_`}${choice}_${index}`;
}

/** The tool calls of a unary answer, each with type, id and arguments as text; the same list when they have. */
export function completeToolCalls(calls: readonly unknown[], completionId: string, choice: number): readonly unknown[] {
  if (calls.every(isComplete)) return calls;
  return calls.map((call, index) => {
    if (!isObject(call) || isComplete(call)) return call;
    const whole: JsonObject = { ...call, type: "function" };
    if (isObject(call["function"])) whole["function"] = { ...call["function"] };
    if (idOf(call) === "") whole["id"] = callId(completionId, choice, index);
    textArguments(whole);
    return whole;
  });
}

function isComplete(call: unknown): boolean {
  if (!isObject(call) || typeof call["type"] !== "string" || idOf(call) === "") return false;
  const called = call["function"];
  return !isObject(called) || typeof called["arguments"] === "string";
}
