// Signs a user in and out in Chromium with relying parties of other projects: those that need only npm's and Debian's packages.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { parties } from './parties.ts';
import type { Party } from './party.ts';
import { type Provider, startProvider } from './provider.ts';
import { launchBrowser, walkThrough } from './walk.ts';

describe.skipIf(!process.env['CHROMIUM'])('relying parties', () => {
  let database: TestDatabase;
  let provider: Provider;
  let browser: Browser;

  beforeAll(async () => {
    database = await createTestDatabase();
    provider = await startProvider({ DATABASE_URL: database.url, SECRET_KEY: randomSecret() });
    browser = await launchBrowser(process.env['CHROMIUM']!);
  });
  afterAll(async () => {
    await browser?.close();
    await provider?.stop();
    await database?.drop();
  });

  const available = (party: Party) => typeof party.version() === 'string';

  describe.each(parties)('$name', (party) => {
    test.skipIf(!available(party))(
      'signs a user in, gets new tokens and is notified of sign-outs elsewhere where it can be, and signs out of both (Core 3, RP-Initiated Logout 2, Back-Channel Logout 2.5)',
      async () => {
        await walkThrough({ party, provider, browser });
      },
    );
  });

  describe.each(parties.filter(({ responseType = 'code' }) => responseType === 'code'))('$name', (party) => {
    test.skipIf(!available(party))('signs no user in with a wrong secret (RFC 6749 5.2)', async () => {
      await expect(walkThrough({ party, provider, browser, fault: 'secret' })).rejects.toThrow('no user is signed in');
    });
  });
});
