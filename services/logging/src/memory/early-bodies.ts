import type { RecordBodies } from "@unigate/kafka";

/** Bodies that came before their records, for as long as there is room: the oldest go first. */
export interface EarlyBodies {
  /** False when there are some with this id already. */
  add(bodies: RecordBodies): boolean;
  /** Those of a record, which are then not kept any more. */
  take(id: string): RecordBodies | undefined;
}

/** What the rest of an entry is taken to weigh, bytes. */
const OVERHEAD = 300;

export function createEarlyBodies(maxBytes: number): EarlyBodies {
  const waiting = new Map<string, RecordBodies>();
  let bytes = 0;

  function take(id: string): RecordBodies | undefined {
    const bodies = waiting.get(id);
    if (bodies === undefined) return undefined;
    waiting.delete(id);
    bytes -= weightOf(bodies);
    return bodies;
  }

  return {
    add(bodies) {
      if (waiting.has(bodies.id)) return false;
      waiting.set(bodies.id, bodies);
      bytes += weightOf(bodies);
      for (const id of waiting.keys()) {
        if (bytes <= maxBytes) break;
        take(id);
      }
      return true;
    },
    take,
  };
}

function weightOf({ tail }: RecordBodies): number {
  return tail.length + OVERHEAD;
}
