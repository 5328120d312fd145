// Runs work in slots: only so many pieces of one key at a time, and only so many that wait.
import { expect, test } from 'vitest';
import { createSlots, SlotsFull } from '../../src/domain/rate-limits/slots.ts';

test('eight pieces of work of a key run at a time, those of another key beside them, and too many are refused (federation 6)', async () => {
  const slots = createSlots({ running: 8, waiting: 5 });
  let running = 0;
  let most = 0;
  const ends: (() => void)[] = [];
  const work = async () => {
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => ends.push(resolve));
    running--;
  };
  const all = Array.from({ length: 13 }, () => slots.run('one', work));
  await expect(slots.run('one', work)).rejects.toBeInstanceOf(SlotsFull);
  const other = slots.run('other', async () => 'done');
  expect(await other).toBe('done');
  expect(running).toBe(8);
  while (ends.length > 0) {
    ends.shift()!();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(all);
  expect(most).toBe(8);
  // work that fails gives its slot back
  await expect(slots.run('one', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await slots.run('one', async () => 'again')).toBe('again');
});
