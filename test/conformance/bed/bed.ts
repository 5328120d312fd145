// Builds the test bed of one file: the service behind an https name, the suite's own server, and a user with every claim.
import { afterAll, beforeAll } from 'vitest';
import { exportJWK, generateKeyPair, type CryptoKey, type JWK } from 'jose';
import { withoutLimits } from '../../helpers/grants.ts';
import { startTestService, type TestService } from '../../helpers/service.ts';
import { createNetwork, form, type Network } from './network.ts';
import { startSuiteServer, type SuiteServer } from './suite-server.ts';

export const issuer = 'https://op.example.test';

export interface KeyPair {
  privateKey: CryptoKey;
  /** RS256, without a kid: the key that the suite registers. */
  publicJwk: JWK;
}

export interface Bed {
  service: TestService;
  network: Network;
  suite: SuiteServer;
  user: { sub: string; username: string; password: string };
  /** The key of every client, and the one that it rotates to. */
  keys: [KeyPair, KeyPair];
  /**
   * Rotates the keys as an administrator does, by the admin route: RSA and EC only, since the suite's check fails on a new key of another
   * type.
   */
  rotateKeys(): Promise<void>;
  stop(): Promise<void>;
}

/** Every standard claim, so that every scope has a value to release. */
const claims = {
  name: 'Demo T. User',
  given_name: 'Demo',
  family_name: 'User',
  middle_name: 'Theresa',
  nickname: 'Dee',
  preferred_username: 'demo',
  profile: 'https://people.example.com/demo',
  picture: 'https://people.example.com/demo.png',
  website: 'https://demo.example.com/',
  gender: 'female',
  birthdate: '2000-02-03',
  zoneinfo: 'America/Los_Angeles',
  locale: 'en-US',
  phone_number: '+1 555 5550000',
  phone_number_verified: false,
  address: {
    street_address: '100 Universal City Plaza',
    locality: 'Hollywood',
    region: 'CA',
    postal_code: '91608',
    country: 'USA',
  },
};

/** The settings that certification needs; all others are the service's defaults. */
const settings = { USERINFO_POST: 'true', REGISTRATION_APPROVAL: 'automatic' };

export async function startBed(environment: Record<string, string> = {}): Promise<Bed> {
  const suite = await startSuiteServer();
  const service = await startTestService({
    environment: {
      ...withoutLimits,
      // hundreds of cases sign in one user at once, and the sessions that a case makes older would be the first to end
      LIMIT_SESSIONS_PER_USER: '0',
      ...settings,
      // behind a proxy that terminates TLS, which is the network below
      BASE_URL: issuer,
      OUTBOUND_ALLOW: suite.host,
      ...environment,
    },
  });
  const network = createNetwork({ [issuer]: Number(new URL(service.instances[0]!).port) });
  const user = await service.createUser({ email: 'demo@example.com', emailVerified: true, claims });
  return {
    service,
    network,
    suite,
    user,
    keys: [await keyPair(), await keyPair()],
    async rotateKeys() {
      const metadata = { redirect_uris: [], grant_types: ['client_credentials'], scope: 'admin' };
      const { basic } = await service.createClient(metadata);
      const { headers, body } = form({ grant_type: 'client_credentials' });
      const token = await network.send(`${issuer}/token`, {
        method: 'POST',
        headers: { ...headers, authorization: basic },
        body,
      });
      const { access_token } = JSON.parse(token.body) as { access_token: string };
      const answer = await network.send(`${issuer}/admin/api/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ algorithms: ['RS256', 'PS256', 'ES256'] }),
      });
      if (answer.status >= 300) throw new Error(`no new keys: ${answer.status} ${answer.body}`);
    },
    async stop() {
      network.close();
      await service.stop();
      await suite.close();
    },
  };
}

/** Starts the bed of a test file before its first test. */
export function useBed(environment: Record<string, string> = {}): () => Bed {
  let bed: Bed | undefined;
  beforeAll(async () => {
    bed = await startBed(environment);
  });
  afterAll(() => bed?.stop());
  return () => bed!;
}

async function keyPair(): Promise<KeyPair> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  return { privateKey, publicJwk: { ...(await exportJWK(publicKey)), alg: 'RS256', use: 'sig' } };
}
