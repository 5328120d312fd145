// Remembers which of many texts have come, each with a number, in 32 bytes for each: a million names take some tens of megabytes.
import { createHash } from 'node:crypto';

export class SeenKeys {
  #digests = new BigUint64Array(1024);
  #numbers = new Float64Array(1024);
  #count = 0;

  /** Remembers a text. @param number such as the place of its row in a file @returns whether the text has come before */
  add(text: string, number = 0): boolean {
    if (this.#count * 2 >= this.#digests.length) this.#grow();
    const isNew = this.#place(digestOf(text), number);
    if (isNew) this.#count++;
    return !isNew;
  }

  has(text: string): boolean {
    return this.get(text) !== undefined;
  }

  /** The number of a text that has come before. */
  get(text: string): number | undefined {
    const digest = digestOf(text);
    const at = this.#slotOf(digest);
    return this.#digests[at] === digest ? this.#numbers[at] : undefined;
  }

  #grow(): void {
    const [digests, numbers] = [this.#digests, this.#numbers];
    this.#digests = new BigUint64Array(digests.length * 2);
    this.#numbers = new Float64Array(digests.length * 2);
    for (const [at, digest] of digests.entries()) if (digest !== 0n) this.#place(digest, numbers[at]!);
  }

  #slotOf(digest: bigint): number {
    let at = Number(digest % BigInt(this.#digests.length));
    while (this.#digests[at] !== 0n && this.#digests[at] !== digest) at = (at + 1) % this.#digests.length;
    return at;
  }

  #place(digest: bigint, number: number): boolean {
    const at = this.#slotOf(digest);
    if (this.#digests[at] === digest) return false;
    this.#digests[at] = digest;
    this.#numbers[at] = number;
    return true;
  }
}

/** 64 bits: of a million texts, two have the same once in forty million files. Zero marks a free slot. */
const digestOf = (text: string): bigint => createHash('sha256').update(text).digest().readBigUInt64BE() || 1n;
