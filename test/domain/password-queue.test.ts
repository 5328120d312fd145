// The queue of password hashes limits running and waiting hashes, prefers known browsers, and refuses further hashes at once.
import { expect, test } from 'vitest';
import {
  createPasswordQueue,
  PasswordQueueFull,
  type PasswordSlot,
} from '../../src/domain/rate-limits/password-queue.ts';

test('no more hashes run or wait than the limits allow, and further ones are refused before any work (security R102)', async () => {
  const passwords = createPasswordQueue({ concurrency: 2, queue: 4 });
  let acquired = 0;
  let max = { running: 0, waiting: 0 };
  const sample = () => {
    const { running, waiting } = passwords.load();
    max = { running: Math.max(max.running, running), waiting: Math.max(max.waiting, waiting) };
  };
  const work = async (slot: PasswordSlot) => {
    acquired++;
    const verified = slot.verify(undefined, 'a password');
    sample();
    return verified.finally(sample);
  };
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => passwords.acquire(work)));
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  expect(refused.every(({ reason }) => reason instanceof PasswordQueueFull)).toBe(true);
  expect([acquired, refused.length]).toEqual([6, 14]);
  expect(max).toEqual({ running: 2, waiting: 4 });
  expect(passwords.load()).toEqual({ running: 0, waiting: 0 });
  expect(await passwords.verify(await passwords.hash('a password'), 'a password')).toEqual({ outdated: false });
});

test('a full queue still accepts preferred hashes, which run before the waiting ones (security R63, R102)', async () => {
  const passwords = createPasswordQueue({ concurrency: 1, queue: 2 });
  const served: string[] = [];
  const verify = (who: string) => (slot: PasswordSlot) => slot.verify(undefined, who).then(() => served.push(who));
  const others = ['1', '2', '3'].map((who) => passwords.acquire(verify(who)));
  await expect(passwords.acquire(verify('4'))).rejects.toThrow(PasswordQueueFull);
  await Promise.all([...others, passwords.acquire(verify('known'), { first: true })]);
  expect(served).toEqual(['1', 'known', '2', '3']);
});
