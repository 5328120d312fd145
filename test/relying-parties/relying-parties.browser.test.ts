// Relying parties that we did not write sign a person in and out in Chromium: those that need only npm's and Debian's packages.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { parties } from './parties.ts';
import { type Provider, startProvider } from './provider.ts';
import { launchBrowser, visit } from './walk.ts';

vi.setConfig({ testTimeout: 60_000 });

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

  describe.each(parties)('$name', (party) => {
    const partyTest = test.skipIf(typeof party.version() !== 'string');

    partyTest('signs a person in, gets new tokens where it can, and signs out of both (issue 4)', async () => {
      await visit({ party, provider, browser });
    });

    partyTest('does not sign anybody in with a wrong secret (OpenID Connect Core 9)', async () => {
      await expect(visit({ party, provider, browser, fault: 'secret' })).rejects.toThrow('nobody is signed in');
    });
  });
});
