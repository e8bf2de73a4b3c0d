/** A piece of memory that records share. */
interface Slab {
  readonly memory: Buffer;
  used: number;
  /** How many records are in it. */
  records: number;
}

/** Where the bytes of a record are. */
export interface Place {
  readonly slab: Slab;
  readonly start: number;
  readonly end: number;
}

/**
 * Memory for the bytes of records, used again when all that were in a piece are gone: records come and go in one order.
 * Memory outside of the heap that waits to be collected makes V8 mark the whole heap every 30 MiB of it.
 */
export interface Slabs {
  /** Copies the pieces, one after the other. */
  keep(...pieces: readonly Buffer[]): Place;
  release(place: Place): void;
}

const SLAB_BYTES = 1024 * 1024;
/** A longer record gets memory of its own. */
const MOST_SHARED_BYTES = SLAB_BYTES / 8;
/** Pieces without records that are kept to be used again. */
const MOST_EMPTY = 4;

export function createSlabs(): Slabs {
  const empty: Slab[] = [];
  let current = newSlab(SLAB_BYTES);

  function slabFor(size: number): Slab {
    if (size > MOST_SHARED_BYTES) return newSlab(size);
    if (current.used + size > SLAB_BYTES) {
      const full = current;
      current = empty.pop() ?? newSlab(SLAB_BYTES);
      // All that was in it went while it was the current one.
      if (full.records === 0) giveBack(full);
    }
    return current;
  }

  function giveBack(slab: Slab): void {
    if (slab.memory.length !== SLAB_BYTES || empty.length >= MOST_EMPTY) return;
    slab.used = 0;
    empty.push(slab);
  }

  return {
    keep(...pieces) {
      const slab = slabFor(pieces.reduce((sum, piece) => sum + piece.length, 0));
      const start = slab.used;
      for (const piece of pieces) slab.used += piece.copy(slab.memory, slab.used);
      slab.records += 1;
      return { slab, start, end: slab.used };
    },
    release({ slab }) {
      slab.records -= 1;
      if (slab.records === 0 && slab !== current) giveBack(slab);
    },
  };
}

function newSlab(size: number): Slab {
  return { memory: Buffer.allocUnsafeSlow(size), used: 0, records: 0 };
}

/** The bytes where they are, until the place is released. */
export function bytesAt({ slab, start, end }: Place): Buffer {
  return slab.memory.subarray(start, end);
}
