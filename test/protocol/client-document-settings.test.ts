// The settings of clients with documents: off by default, hosts whose documents need no approval, and the limits.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deleteUncompleted } from '../../src/jobs/retention.ts';
import { type DocumentServer, startDocumentServer } from '../helpers/document-server.ts';
import { adminToken, call, eventually, obtainCode, obtainTokens, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, pkce, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const redirectUri = 'http://127.0.0.1:51004/callback';
const challenge = (({ code_challenge, code_challenge_method }) => ({ code_challenge, code_challenge_method }))(pkce());
const unknown = { status: 303, location: expect.stringContaining('/login?problem=client') };

let server: DocumentServer;
beforeAll(async () => {
  server = await startDocumentServer();
});
afterAll(() => server?.stop());
beforeEach(() => {
  server.requests.length = 0;
});

const start = (environment: Record<string, string>, options: Parameters<typeof startTestService>[0] = {}) =>
  startTestService({
    ...options,
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: server.allow,
      CLIENT_ID_METADATA_HOSTS: server.allow,
      ...environment,
    },
  });

async function signedIn(service: TestService, user?: TestUser): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user ?? (await service.createUser()));
  return agent;
}

const ask = (agent: UserAgent, clientId: string, parameters: Record<string, string> = {}) =>
  agent.get(authorizationUrl(agent.issuer, { clientId, redirectUri }, { ...challenge, ...parameters }));

const discovery = async ({ issuer }: TestService, name: string) =>
  (await fetch(`${issuer}/.well-known/${name}`).then((answer) => answer.json())) as Record<string, unknown>;

describe('by default', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({});
  });
  afterAll(() => service?.stop());

  test('no document is fetched, no page offers new applications, and discovery does not name the feature (protocols P93, security R89)', async () => {
    const agent = await signedIn(service);
    const answer = await ask(agent, server.serve('/off.json'));
    expect(answer).toMatchObject(unknown);
    expect((await agent.follow(answer)).body).not.toContain('New application?');
    expect(server.requests).toEqual([]);
    for (const name of ['openid-configuration', 'oauth-authorization-server'])
      expect(await discovery(service, name)).not.toHaveProperty('client_id_metadata_document_supported');
  });

  test('a request costs no statement more (protocols P93)', async () => {
    const agent = await signedIn(service);
    const statementsOf = async (clientId: string) => {
      service.ofRequests.length = 0;
      await ask(agent, clientId);
      return [...service.ofRequests];
    };
    expect(await statementsOf('https://unknown.example/client.json')).toEqual(await statementsOf('unknown'));
  });
});

describe('with hosts whose documents need no approval', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({ CLIENT_ID_METADATA: 'hosts', CLIENT_ID_METADATA_HOSTS: `${server.allow}, other.example` });
  });
  afterAll(() => service?.stop());

  test('discovery names the feature (draft-ietf-oauth-client-id-metadata-document 7)', async () => {
    for (const name of ['openid-configuration', 'oauth-authorization-server'])
      expect(await discovery(service, name)).toMatchObject({ client_id_metadata_document_supported: true });
  });

  test('the request goes on at once, and consent says that the application registered itself (protocols 5.5)', async () => {
    const agent = await signedIn(service);
    const clientId = server.serve('/trusted.json');
    const consent = await agent.follow(await ask(agent, clientId));
    expect(consent.body).toContain('id="self-registered"');
    expect(consent.body).toContain('id="claimed-name"');
    expect(consent.body).toContain('id="loopback"');
    expect(responseParameters(await agent.submit(consent, { decision: 'allow' }))).toHaveProperty('code');
    expect(server.requests).toEqual(['/trusted.json']);
    const [row] = await service.database.sql('SELECT status, approved_by FROM clients WHERE client_id = $1', [
      clientId,
    ]);
    expect(row).toEqual({ status: 'enabled', approved_by: 'automatic' });
  });

  test('any port of a listed loopback address matches, and no other address (protocols P56, security R23, R140)', async () => {
    const agent = await signedIn(service);
    const clientId = server.serve('/loopback.json', {
      redirect_uris: ['http://localhost/callback'],
      client_name: 'Editor',
    });
    await obtainCode(service, { clientId, redirectUri: 'http://localhost:8080/callback' }, undefined, challenge, agent);
    for (const port of [1, 80, 1024, 65_535]) {
      const page = await ask(agent, clientId, { redirect_uri: `http://localhost:${port}/callback`, prompt: 'consent' });
      const consent = await agent.follow(page);
      expect(consent.body).toContain('id="loopback"');
      expect(consent.body).toContain(new URL(server.origin).host);
    }
    for (const other of [
      'http://localhost.evil.example:1/callback',
      'http://127.0.0.1/callback',
      'http://localhost:65536/callback',
      'http://localhost:8080/callback/',
      'http://LOCALHOST:8080/callback',
      'https://localhost:8080/callback',
      'http://user@localhost:8080/callback',
    ])
      expect(await ask(agent, clientId, { redirect_uri: other })).toMatchObject(unknown);
  });

  test('an application that is not only on the computer of the user gets no warning about it (protocols 5.5)', async () => {
    const agent = await signedIn(service);
    const redirect_uris = [`${server.origin}/callback`, 'http://localhost/callback'];
    const clientId = server.serve('/web.json', { redirect_uris });
    const consent = await agent.follow(await ask(agent, clientId, { redirect_uri: redirect_uris[0]! }));
    expect(consent.body).toContain('id="claimed-name"');
    expect(consent.body).not.toContain('id="loopback"');
  });

  test('a document of the same host at another port is not trusted (protocols 5.5)', async () => {
    const elsewhere = await start({ CLIENT_ID_METADATA: 'hosts', CLIENT_ID_METADATA_HOSTS: 'localhost' });
    try {
      // nor is it fetched from the service's own network (security R164)
      const page = await ask(await signedIn(elsewhere), server.serve('/other-port.json'));
      expect(page).toMatchObject({ status: 400, body: expect.stringContaining('can’t be used here') as string });
    } finally {
      await elsewhere.stop();
    }
  });
});

describe('with automatic approval', () => {
  test('a document needs no approval, and a change of it takes effect at once until an administrator gives the client rights (protocols 5.5)', async () => {
    const service = await start({ CLIENT_ID_METADATA: 'automatic' });
    try {
      const agent = await signedIn(service);
      const clientId = server.serve('/automatic.json');
      await obtainCode(service, { clientId, redirectUri }, undefined, challenge, agent);
      server.serve('/automatic.json', { client_name: 'Another Editor' });
      await service.database.sql(`UPDATE client_documents SET fresh_until = now()`);
      await ask(agent, clientId);
      const [row] = await service.database.sql('SELECT metadata FROM clients WHERE client_id = $1', [clientId]);
      expect(row).toMatchObject({ metadata: { client_name: 'Another Editor' } });
      // rights of an administrator are for the version that was there (security R44, R141)
      await call(`${service.issuer}/admin/api/clients/${encodeURIComponent(clientId)}`, {
        method: 'PATCH',
        token: await adminToken(service),
        body: { first_party: true },
      });
      server.serve('/automatic.json', { client_name: 'A third Editor' });
      await service.database.sql(`UPDATE client_documents SET fresh_until = now()`);
      await ask(agent, clientId);
      const [later] = await service.database.sql('SELECT * FROM clients WHERE client_id = $1', [clientId]);
      expect(later).toMatchObject({
        first_party: true,
        metadata: { client_name: 'Another Editor' },
        pending_metadata: { client_name: 'A third Editor' },
      });
    } finally {
      await service.stop();
    }
  });
});

describe('the limits', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({
      CLIENT_ID_METADATA: 'approval',
      LIMIT_METADATA_FETCHES: '3',
      LIMIT_REGISTRATIONS_WAITING: '4',
    });
  });
  afterAll(() => service?.stop());

  test('a user causes a limited number of fetches in a minute, and more rows are not made (protocols P57, security R49, R151)', async () => {
    const agent = await signedIn(service);
    const paths = Array.from({ length: 8 }, (_, index) => `/flood-${index}.json`);
    const pages = await Promise.all(paths.map((path) => ask(agent, server.serve(path))));
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
    const refused = pages.find(({ status }) => status === 429)!;
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.body).toContain('Too many new applications');
    expect(server.requests).toHaveLength(3);
    expect(await service.database.sql('SELECT client_id FROM document_fetches')).toEqual([]);
  });

  test('all users together fill the queue up to its limit, and no further (protocols P57, security R49, R151)', async () => {
    const agent = await signedIn(service);
    const pages = [];
    for (const path of ['/queue-1.json', '/queue-2.json']) pages.push(await ask(agent, server.serve(path)));
    expect(pages).toMatchObject([{ status: 200 }, { status: 503 }]);
    expect(pages[1]!.body).toContain('Too many applications are waiting');
    const [row] = await service.database.sql('SELECT count(*)::int AS waiting FROM clients WHERE origin = $1', [
      'document',
    ]);
    expect(row).toEqual({ waiting: 4 });
  });

  test('all users together cause a limited number of fetches, failures included (protocols P57, security R151)', async () => {
    await service.database.sql('DELETE FROM rate_limits');
    server.documents.clear();
    let fetched = 0;
    for (let users = 0; users < 12; users++) {
      const agent = await signedIn(service);
      for (let times = 0; times < 3; times++)
        if ((await ask(agent, `${server.origin}/missing-${users}-${times}.json`)).status === 400) fetched++;
    }
    expect(fetched).toBe(30);
    expect(server.requests).toHaveLength(30);
    const [row] = await service.database.sql('SELECT count(*)::int AS failures FROM document_fetches');
    expect(row).toEqual({ failures: 30 });
  });

  test('a client that is never approved is deleted after its time, with its document and the users who asked for it (security R49, R151)', async () => {
    await service.database.sql(`UPDATE document_fetches SET held_until = now()`);
    await service.database.sql(`ALTER TABLE clients DISABLE TRIGGER clients_2_rules`);
    await service.database.sql(`UPDATE clients SET updated_at = now() - interval '31 days' WHERE origin = 'document'`);
    await service.database.sql(`ALTER TABLE clients ENABLE TRIGGER clients_2_rules`);
    const left = await eventually(
      async () => {
        // again, since a deletion leaves rows that another statement has locked
        await deleteUncompleted(service.store, 30 * 86_400);
        for (let kind = 0; kind < service.store.expired.kinds; kind++)
          await service.store.transaction(({ expired }) => expired.deleteBatch(kind));
        return service.database.sql<{ count: number }>(
          `SELECT (SELECT count(*) FROM clients WHERE origin = 'document')::int + (SELECT count(*) FROM client_documents)::int
             + (SELECT count(*) FROM client_askers)::int + (SELECT count(*) FROM document_fetches)::int AS count`,
        );
      },
      ([row]) => row!.count === 0,
    );
    expect(left).toEqual([{ count: 0 }]);
  });
});

describe('a client that was never approved (security R164)', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({
      CLIENT_ID_METADATA: 'approval',
      CLIENT_ID_METADATA_HOSTS: '',
      LIMIT_METADATA_FETCHES: '0',
      LIMIT_REGISTRATIONS_WAITING: '12',
    });
  });
  afterAll(() => service?.stop());

  test('no host of OUTBOUND_ALLOW is fetched for it, unless CLIENT_ID_METADATA_HOSTS names the host (security R164)', async () => {
    const agent = await signedIn(service);
    const page = await ask(agent, server.serve('/inward.json'));
    expect(page).toMatchObject({ status: 400, body: expect.stringContaining('can’t be used here') as string });
    expect(server.requests).toHaveLength(0);
  });

  test('its document is not read again from such a host, and that of an approved client is (security R164)', async () => {
    const named = await start({ CLIENT_ID_METADATA: 'approval' });
    try {
      const agent = await signedIn(named);
      const clientId = server.serve('/named.json');
      expect((await ask(agent, clientId)).status).toBe(200);
      const shared = await startTestService({
        database: named.database,
        secretKey: named.secretKey,
        environment: { ...withoutLimits, CLIENT_ID_METADATA: 'approval', OUTBOUND_ALLOW: server.allow },
      });
      const other = await signedIn(shared);
      for (const approved of [false, true]) {
        if (approved)
          await named.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [clientId]);
        await named.database.sql('UPDATE client_documents SET fresh_until = now()');
        await named.database.sql('DELETE FROM document_fetches');
        server.requests.length = 0;
        await ask(other, clientId);
        expect(server.requests.length, String(approved)).toBe(approved ? 1 : 0);
      }
      await Promise.all(shared.apps.map((app) => app.close()));
    } finally {
      await named.stop();
    }
  });

  test('a user has ten undecided documents, also of requests at once, and the next one is not fetched (security R164)', async () => {
    const own = await start({ CLIENT_ID_METADATA: 'approval', LIMIT_METADATA_FETCHES: '0' });
    try {
      const agent = await signedIn(own);
      const urls = Array.from({ length: 16 }, (_, index) => server.serve(`/undecided-${index}.json`));
      const pages = await Promise.all(urls.map((url) => ask(agent, url)));
      expect(pages.filter(({ status }) => status === 200)).toHaveLength(10);
      const refused = pages.filter(({ status }) => status === 429);
      expect(refused).toHaveLength(6);
      expect(refused[0]!.body).toContain('Too many of your applications are pending approval');
      server.requests.length = 0;
      expect((await ask(agent, server.serve('/undecided-more.json'))).status).toBe(429);
      expect(server.requests).toHaveLength(0);
      // another user may, and so may this one after a decision
      expect((await ask(await signedIn(own), server.serve('/undecided-other.json'))).status).toBe(200);
      const [one] = pages.map(({ status }, index) => (status === 200 ? urls[index] : undefined)).filter(Boolean);
      await own.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [one]);
      expect((await ask(agent, server.serve('/undecided-more.json'))).status).toBe(200);
    } finally {
      await own.stop();
    }
  });

  test('documents and registrations have queues of their own (security R164)', async () => {
    const own = await start({ CLIENT_ID_METADATA: 'approval', LIMIT_REGISTRATIONS_WAITING: '1' });
    try {
      const register = async () =>
        (await call(`${own.issuer}/register`, { body: { redirect_uris: ['https://app.example/cb'] } })).status;
      const agent = await signedIn(own);
      expect((await ask(agent, server.serve('/queued-1.json'))).status).toBe(200);
      expect(await register()).toBe(201);
      expect((await ask(agent, server.serve('/queued-2.json'))).status).toBe(503);
      expect(await register()).not.toBe(201);
    } finally {
      await own.stop();
    }
  });
});

describe('a flood with the default limits', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({ CLIENT_ID_METADATA: 'approval', LIMIT_REGISTRATIONS_WAITING: '40' });
  });
  afterAll(() => service?.stop());

  /** A user of an approved client gets tokens, and the service fetches nothing for it. */
  async function approvedIsServed(): Promise<void> {
    const client = await service.createClient();
    const { access_token: token } = await obtainTokens(service, client, await service.createUser());
    expect((await userinfo(service.issuer, token)).status).toBe(200);
  }

  /** Names the URLs, some at a time; returns how often each status answered. */
  async function flood(urls: readonly (readonly [UserAgent, string])[]): Promise<Record<number, number>> {
    const counts: Record<number, number> = {};
    const left = [...urls];
    const work = async () => {
      for (let next = left.pop(); next; next = left.pop()) {
        const { status } = await ask(...next);
        counts[status] = (counts[status] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: 40 }, work));
    return counts;
  }

  test('of 500 URLs of one user 30 are fetched, and while their host is silent an approved client is served (protocols P57, security R49, R151)', async () => {
    const agent = await signedIn(service);
    let release = () => {};
    const until = new Promise<void>((resolve) => (release = resolve));
    const urls = Array.from({ length: 500 }, (_, index) => server.serve(`/silent-${index}.json`, {}, { until }));
    let isOver = false;
    const counts = flood(urls.map((url) => [agent, url])).finally(() => (isOver = true));
    // on a busy machine a fetch may pass its deadline before it reaches the host: it counts, too
    await eventually(
      async () => server.requests.length,
      (fetched) => fetched === 30 || isOver,
    );
    await approvedIsServed();
    release();
    // ten of the 30 wait (security R164), or fewer where a fetch from the silent host ended before it was released
    expect((await counts)[429]).toBeGreaterThanOrEqual(470);
    expect(server.requests.length).toBeLessThanOrEqual(30);
    const waiting = await service.database.sql(`SELECT FROM clients WHERE origin = 'document'`);
    expect(waiting.length).toBeLessThanOrEqual(10);
  });

  test('of 12 users with 40 URLs each at most 300 are fetched and the queue gets its 40, and an approved client is served (protocols P57, security R49, R151)', async () => {
    await service.database.sql('DELETE FROM rate_limits');
    await service.database.sql(`DELETE FROM clients WHERE origin = 'document'`);
    const urls: [UserAgent, string][] = [];
    for (let user = 0; user < 12; user++) {
      const agent = await signedIn(service);
      for (let index = 0; index < 40; index++) urls.push([agent, server.serve(`/many-${user}-${index}.json`)]);
    }
    const counts = flood(urls);
    await approvedIsServed();
    expect(Object.keys(await counts).sort()).toEqual(['200', '429', '503']);
    // none once the queue is full
    expect(server.requests.length).toBeLessThanOrEqual(300);
    const [row] = await service.database.sql(`SELECT count(*)::int AS waiting FROM clients WHERE origin = 'document'`);
    expect(row).toEqual({ waiting: 40 });
  });
});
