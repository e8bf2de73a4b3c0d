/** 64 bits, as two unsigned numbers of 32: spread evenly, and no secret to anybody. */
export interface Hash {
  readonly high: number;
  readonly low: number;
}

/** A hash of any text, the same in every process. */
export function hashOfText(text: string): Hash {
  let high = 0x9e3779b9;
  let low = 0x85ebca6b;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 0xcc9e2d51);
    high = (high << 13) | (high >>> 19);
    low = Math.imul(low ^ unit, 0x1b873593) + high;
  }
  return mixed(high, low ^ text.length);
}

/** One hash of two and a number. */
export function hashOfBoth(left: Hash, right: Hash, number: number): Hash {
  const one = mixed(left.high ^ number, left.low ^ right.high);
  return mixed(one.high ^ right.low, one.low);
}

function mixed(high: number, low: number): Hash {
  const first = scrambled(low + Math.imul(high, 0x9e3779b9));
  const second = scrambled(high ^ Math.imul(first, 0xc2b2ae35));
  return { high: second >>> 0, low: scrambled(first ^ second) >>> 0 };
}

/** Every bit of a number of 32 bits comes to depend on every other. */
function scrambled(value: number): number {
  let bits = value ^ (value >>> 16);
  bits = Math.imul(bits, 0x21f0aaad);
  bits ^= bits >>> 15;
  bits = Math.imul(bits, 0x735a2d97);
  return bits ^ (bits >>> 15);
}
