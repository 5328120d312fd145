// Tests the service's estimate of the database's clock, by which it judges the times that others assert.
import { afterEach, expect, test, vi } from 'vitest';
import { openEncryption } from '../../src/domain/keys/encryption-at-rest.ts';
import { openKeyRing } from '../../src/tokens/key-ring.ts';
import { startTestService } from '../helpers/service.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('the clock does not lag by the duration of the reading, however slow the database is (reports F3)', async () => {
  const service = await startTestService();
  const { secretBox } = await openEncryption(service.store, [service.secretKey]);
  const began = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: began });
  const { signingKeys } = service.store;
  // the database reads its clock in the middle of an answer that takes two seconds
  const slow = {
    ...signingKeys,
    async list() {
      const found = await signingKeys.list();
      const now = new Date(Date.now() + 1000);
      vi.setSystemTime(Date.now() + 2000);
      return { ...found, now };
    },
  };
  const ring = await openKeyRing({ store: { ...service.store, signingKeys: slow }, secretBox, idTokenLifetime: 600 });
  expect(ring.now().getTime()).toBe(Date.now());
  vi.useRealTimers();
  await service.stop();
});
