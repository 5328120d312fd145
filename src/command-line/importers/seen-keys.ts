// Remembers which of many texts have come, each with a number, in a temporary file: memory stays the same for any number of texts.
import { hash } from 'node:crypto';
import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bytes of a slot: two words of a digest, and the number. A slot whose first word is zero is free. */
const slotSize = 16;
/** The slots of a page, which one read fetches. A text has its slot in the page of its digest, or in the next page with a free slot. */
const pageSlots = 32;
const pageSize = pageSlots * slotSize;
const growth = 8;

export class SeenKeys {
  #file = temporaryFile();
  #pages = 1024;
  #count = 0;
  /** The page that was read last, as words and as numbers. */
  readonly #words = new Uint32Array(pageSize / 4);
  readonly #numbers = new Float64Array(this.#words.buffer);

  constructor() {
    ftruncateSync(this.#file, this.#pages * pageSize);
  }

  /** Remembers a text. @param number such as the place of its row in a file @returns whether the text has come before */
  add(text: string, number = 0): boolean {
    if (this.#count * 2 >= this.#pages * pageSlots) this.#grow();
    const isNew = this.#place(...digestOf(text), number);
    if (isNew) this.#count++;
    return !isNew;
  }

  has(text: string): boolean {
    return this.get(text) !== undefined;
  }

  /** The number of a text that has come before. */
  get(text: string): number | undefined {
    const { isTaken, slot } = this.#slotOf(...digestOf(text));
    return isTaken ? this.#numbers[slot * 2 + 1] : undefined;
  }

  /** Moves all to a larger file, which begins with holes. */
  #grow(): void {
    const former = this.#file;
    const size = this.#pages * pageSize;
    this.#file = temporaryFile();
    this.#pages *= growth;
    ftruncateSync(this.#file, this.#pages * pageSize);
    const words = new Uint32Array(128 * this.#words.length);
    const numbers = new Float64Array(words.buffer);
    for (let begin = 0; begin < size; begin += words.byteLength) {
      const slots = readSync(former, words, 0, words.byteLength, begin) / slotSize;
      for (let slot = 0; slot < slots; slot++)
        if (words[slot * 4] !== 0) this.#place(words[slot * 4]!, words[slot * 4 + 1]!, numbers[slot * 2 + 1]!);
    }
    closeSync(former);
  }

  /** Finds the slot of a digest, or the free one for it. Its page is in memory then. */
  #slotOf(first: number, second: number): { isTaken: boolean; page: number; slot: number } {
    const words = this.#words;
    for (let page = second % this.#pages; ; page = (page + 1) % this.#pages) {
      readSync(this.#file, words, 0, pageSize, page * pageSize);
      for (let slot = 0; slot < pageSlots; slot++) {
        const found = words[slot * 4]!;
        if (found === 0) return { isTaken: false, page, slot };
        if (found === first && words[slot * 4 + 1] === second) return { isTaken: true, page, slot };
      }
    }
  }

  #place(first: number, second: number, number: number): boolean {
    const { isTaken, page, slot } = this.#slotOf(first, second);
    if (isTaken) return false;
    this.#words.set([first, second], slot * 4);
    this.#numbers[slot * 2 + 1] = number;
    const at = slot * slotSize;
    writeSync(this.#file, this.#words, at, slotSize, page * pageSize + at);
    return true;
  }
}

/** Opens a file without a name, which the system frees with the process. */
function temporaryFile(): number {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-import-'));
  try {
    return openSync(join(folder, 'keys'), 'wx+', 0o600);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** 64 bits: of a million texts, two have the same once in forty million files. Zero marks a free slot. */
function digestOf(text: string): [first: number, second: number] {
  const digest = hash('sha256', text, 'buffer');
  return [digest.readUInt32LE() || 1, digest.readUInt32LE(4)];
}
