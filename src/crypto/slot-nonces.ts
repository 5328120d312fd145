// Makes nonces that any instance recognises without storing them: each is the MAC of a slot of time.
import { createHmac, type KeyObject } from 'node:crypto';
import { equalSecrets } from './secrets.ts';

export interface SlotNonces {
  /** The nonce of this slot, under the first key. */
  current(): string;
  /** Whether a nonce is of this slot or of the one before; undefined for any other text. */
  slotOf(nonce: string): 'current' | 'former' | undefined;
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
    slotOf(text) {
      const of = slot();
      const isOf = (one: number) => keys.some((key) => equalSecrets(nonce(key, one), text));
      return isOf(of) ? 'current' : isOf(of - 1) ? 'former' : undefined;
    },
  };
}
