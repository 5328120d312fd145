// Remembers which of many texts have come, in sixteen bytes for each: a million names take 16 MB.
import { createHash } from 'node:crypto';

export class SeenKeys {
  #slots = new BigUint64Array(1024);
  #count = 0;

  /** Whether the text has come before; from now on it has. */
  add(text: string): boolean {
    if (this.#count * 2 >= this.#slots.length) this.#grow();
    const isNew = place(this.#slots, digestOf(text));
    if (isNew) this.#count++;
    return !isNew;
  }

  has(text: string): boolean {
    const digest = digestOf(text);
    return this.#slots[slotOf(this.#slots, digest)] === digest;
  }

  #grow(): void {
    const larger = new BigUint64Array(this.#slots.length * 2);
    for (const digest of this.#slots) if (digest !== 0n) place(larger, digest);
    this.#slots = larger;
  }
}

/** 64 bits: of a million texts, two have the same once in forty million files. Zero marks a free slot. */
const digestOf = (text: string): bigint => createHash('sha256').update(text).digest().readBigUInt64BE() || 1n;

function slotOf(slots: BigUint64Array, digest: bigint): number {
  let at = Number(digest % BigInt(slots.length));
  while (slots[at] !== 0n && slots[at] !== digest) at = (at + 1) % slots.length;
  return at;
}

function place(slots: BigUint64Array, digest: bigint): boolean {
  const at = slotOf(slots, digest);
  const isNew = slots[at] === 0n;
  slots[at] = digest;
  return isNew;
}
