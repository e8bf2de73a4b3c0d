/** Records share pieces of memory of this size: each of its own would cost the collector a visit. */
const SHARED_BYTES = 64 * 1024;
/** One that may become longer than this gets its own. */
const MOST_SHARED_BYTES = SHARED_BYTES / 4;

let shared = Buffer.allocUnsafeSlow(SHARED_BYTES);
let used = 0;

/**
 * Memory for a record of at most `most` bytes, to be written from its start; `taken` ends it before the next one begins.
 * Neighbours in it are of one age, so that they are let go of together.
 */
export function placeFor(most: number): Buffer {
  if (most > MOST_SHARED_BYTES) return Buffer.allocUnsafeSlow(most);
  if (used + most > SHARED_BYTES) {
    shared = Buffer.allocUnsafeSlow(SHARED_BYTES);
    used = 0;
  }
  return shared.subarray(used, used + most);
}

/** The first `length` bytes of a place. What is left of a large one of its own is given back. */
export function taken(place: Buffer, length: number): Buffer {
  if (place.buffer !== shared.buffer) return length > place.length / 2 ? place.subarray(0, length) : Buffer.from(place.subarray(0, length));
  used += length;
  return place.subarray(0, length);
}
