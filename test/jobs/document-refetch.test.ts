// The background job reads the documents that were used within a day, each once an hour, on one of several instances.
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { createClientDocuments } from '../../src/domain/client-documents/client-documents.ts';
import { openEncryption } from '../../src/domain/keys/encryption-at-rest.ts';
import { createLimits } from '../../src/domain/rate-limits/rate-limits.ts';
import { createGuardedRead } from '../../src/outbound/guarded-fetch.ts';
import { createClientCache } from '../../src/repositories/clients/client-cache.ts';
import { type DocumentServer, startDocumentServer } from '../helpers/document-server.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, pkce, UserAgent } from '../helpers/user-agent.ts';

let server: DocumentServer;
let service: TestService;
let agent: UserAgent;
beforeAll(async () => {
  server = await startDocumentServer();
  const environment = {
    ...withoutLimits,
    CLIENT_ID_METADATA: 'automatic',
    CLIENT_ID_METADATA_HOSTS: server.allow,
    OUTBOUND_ALLOW: server.allow,
  };
  service = await startTestService({ environment });
  agent = new UserAgent(service);
  await agent.signIn(await service.createUser());
});
afterAll(async () => {
  await service?.stop();
  await server?.stop();
});

const { code_challenge, code_challenge_method } = pkce();
const ask = (clientId: string) =>
  agent.get(
    authorizationUrl(
      service.issuer,
      { clientId, redirectUri: 'http://127.0.0.1:1/callback' },
      { code_challenge, code_challenge_method },
    ),
  );

/** The job of one more instance, without its clock. */
async function job() {
  const { store, secretKey, issuer } = service;
  const config = loadConfig({
    BASE_URL: issuer,
    DATABASE_URL: service.database.url,
    SECRET_KEY: secretKey,
    CLIENT_ID_METADATA: 'automatic',
    OUTBOUND_ALLOW: server.allow,
  });
  const { secretBox } = await openEncryption(store, [secretKey]);
  return createClientDocuments({
    config,
    store,
    secretBox,
    clients: createClientCache(store),
    limits: createLimits(store, config.limits),
    readDocument: createGuardedRead(config.outboundAllow),
    readForeignDocument: createGuardedRead([]),
    logger: pino({ level: 'silent' }),
  });
}
const hoursPass = (hours: number) =>
  service.database.sql(
    `UPDATE client_documents SET fresh_until = fresh_until - $1::interval, used_at = used_at - $1::interval, refetch_at = refetch_at - $1::interval,
       gone_since = gone_since - $1::interval`,
    [`${hours} hours`],
  );

test('what was used within a day is read once an hour by one instance, and what was not is not (protocols 5.5, security R140)', async () => {
  const paths = Array.from({ length: 25 }, (_, index) => `/used-${index}.json`);
  for (const path of paths) await ask(server.serve(path));
  const [one, other] = [await job(), await job()];
  server.requests.length = 0;
  await Promise.all([one.refetchDue(() => false), other.refetchDue(() => false)]);
  expect(server.requests).toEqual([]);
  await hoursPass(1);
  server.serve('/used-0.json', { client_name: 'Another Editor' });
  await Promise.all([one.refetchDue(() => false), other.refetchDue(() => false)]);
  expect([...server.requests].sort()).toEqual([...paths].sort());
  const [changed] = await service.database.sql(
    `SELECT metadata ->> 'client_name' AS name FROM clients WHERE client_id = $1`,
    [`${server.origin}/used-0.json`],
  );
  expect(changed).toEqual({ name: 'Another Editor' });
  server.requests.length = 0;
  await one.refetchDue(() => false);
  expect(server.requests).toEqual([]);
  await hoursPass(24);
  await one.refetchDue(() => false);
  expect(server.requests).toEqual([]);
  // a user who comes back sets it going again
  await ask(`${server.origin}/used-1.json`);
  server.requests.length = 0;
  await hoursPass(1);
  await one.refetchDue(() => false);
  expect(server.requests).toEqual(['/used-1.json']);
});

test('a stop ends the round after the fetch that runs (decisions 8)', async () => {
  for (const path of ['/stop-1.json', '/stop-2.json', '/stop-3.json']) await ask(server.serve(path));
  await hoursPass(1);
  const one = await job();
  server.requests.length = 0;
  await one.refetchDue(() => server.requests.length > 0);
  expect(server.requests).toHaveLength(1);
});
