// Makes nonces that any instance recognises without storing them: each is the MAC of a slot of time.
import { createHmac, type KeyObject } from 'node:crypto';
import { equalSecrets } from './secrets.ts';

/** A nonce that is still good. */
export interface GoodNonce {
  slot: 'current' | 'former';
  /** The end of its slot, in seconds since 1970. It is good for one slot before and one after. */
  end: number;
}

export interface SlotNonces {
  /** The nonce of this slot, under the first key. */
  current(): string;
  /** A nonce of this slot or of the one before; undefined for any other text. */
  read(nonce: string): GoodNonce | undefined;
}

/**
 * @param keys for this use alone; the first makes nonces, all recognise them
 * @param seconds the length of a slot
 */
export function createSlotNonces(
  keys: readonly [KeyObject, ...KeyObject[]],
  seconds: number,
  now: () => Date,
): SlotNonces {
  const slot = () => Math.floor(now().getTime() / 1000 / seconds);
  const nonce = (key: KeyObject, of: number) => createHmac('sha256', key).update(String(of)).digest('base64url');
  return {
    current: () => nonce(keys[0], slot()),
    read(text) {
      const of = slot();
      const isOf = (one: number) => keys.some((key) => equalSecrets(nonce(key, one), text));
      if (isOf(of)) return { slot: 'current', end: (of + 1) * seconds };
      return isOf(of - 1) ? { slot: 'former', end: of * seconds } : undefined;
    },
  };
}
