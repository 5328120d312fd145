// Hides the numbers of rows in texts for clients: each text is another one, and tells nothing without the key.
import {
  type Cipheriv,
  createCipheriv,
  createDecipheriv,
  type Decipheriv,
  type KeyObject,
  randomInt,
} from 'node:crypto';

export interface HiddenIds {
  /** @param id a positive number below 2^48, as a row has it */
  hide(id: string): string;
  /** The id that a text of hide() has; undefined for any other text. Only what vouches for the text vouches for the id. */
  read(text: string): string | undefined;
}

/** Bytes of the id, and of the random number that makes each text another one; the rest of the block is zero, which tells the right key. */
const idSize = 6;
const randomSize = 6;
const blockSize = 16;
const length = 22;
/** randomInt() makes numbers below 2^48, but for the last one. */
const randomEnd = 2 ** 48 - 1;

/**
 * One block of AES is a permutation, so that no mode of operation is needed. A cipher is made once for each key, since to make one costs more than the block.
 * @param keys for this use alone; the first hides, all read
 */
export function createHiddenIds(keys: readonly [KeyObject, ...KeyObject[]]): HiddenIds {
  const oneBlock = <Made extends Cipheriv | Decipheriv>(made: Made): Made => {
    made.setAutoPadding(false);
    return made;
  };
  const cipher = oneBlock(createCipheriv('aes-256-ecb', keys[0], null));
  const deciphers = keys.map((key) => oneBlock(createDecipheriv('aes-256-ecb', key, null)));
  const block = Buffer.alloc(blockSize);

  return {
    hide(id) {
      block.writeUIntBE(Number(id), 0, idSize);
      block.writeUIntBE(randomInt(randomEnd), idSize, randomSize);
      return cipher.update(block).toString('base64url');
    },
    read(text) {
      const hidden = text.length === length ? Buffer.from(text, 'base64url') : undefined;
      if (hidden?.length !== blockSize) return undefined;
      const found = deciphers
        .map((decipher) => decipher.update(hidden))
        .find((one) => one.readUInt32BE(idSize + randomSize) === 0);
      return found && String(found.readUIntBE(0, idSize));
    },
  };
}
