// Searches for a client among ten thousand and reviews pending ones: the results, look-alike names, and plans that read no whole table.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { metadataDifference } from '../../src/rules/clients/metadata-difference.ts';
import { type ClientMetadata, parseClientMetadata } from '../../src/oauth/client-metadata.ts';
import type { Database } from '../../src/database/database.ts';
import { createStore, type Repositories } from '../../src/repositories/store.ts';
import type { ClientFilter } from '../../src/repositories/clients/client-listing.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const [enabled, flood] = [2_000, 1_000];
let service: TestService;
const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  service.database.sql<Row>(text, values);
const page = (limit: number, after?: { at: Date; id: string }) => ({ limit, after });

beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  // a flood of registrations that no administrator has reviewed, on top of many clients
  await sql(
    `INSERT INTO clients (client_id, status, approved_by, self_registered, client_secret_hash, shared_secret_encrypted, created_at, metadata)
     SELECT 'made-' || n, CASE WHEN n <= $1 THEN 'enabled' ELSE 'disabled' END, CASE WHEN n <= $1 THEN 'administrator' END, n > $1,
            sha256(n::text::bytea), decode(repeat('03', 16), 'hex'), now() - interval '30 days' + n * interval '1 second',
            jsonb_build_object('client_name', 'Made ' || md5(n::text), 'redirect_uris', jsonb_build_array('https://h' || n || '.made.example/cb'),
              'grant_types', '["authorization_code"]'::jsonb, 'response_types', '["code"]'::jsonb, 'scope', 'openid',
              'token_endpoint_auth_method', 'client_secret_basic')
       FROM generate_series(1, $1::int + $2::int) AS n`,
    [enabled, flood],
  );
  await sql('ANALYZE clients, known_redirect_hosts, audit_events');
});
afterAll(() => service?.stop());

const named = (client_name: string, rest: Record<string, unknown> = {}) =>
  service.createClient({ client_name, ...rest });
const found = async (search: string, filter: ClientFilter = {}) =>
  (await service.store.clients.list({ ...filter, search }, page(50))).map(({ clientId }) => clientId);

describe('a search', () => {
  test('a search finds clients by words of the name, by the id, and by redirect hosts and the domains above them, newest first (pages, search)', async () => {
    const first = await named('Café Müller – Orders', {
      redirect_uris: ['https://orders.cafe-mueller.example:8443/cb'],
    });
    const second = await named('Müller’s back-office', { redirect_uris: ['http://127.0.0.1:5001/cb'] });
    expect(await found('müller')).toEqual([second.clientId, first.clientId]);
    for (const search of [
      'CAFÉ ord',
      'orders müller',
      'orders.cafe',
      'cafe-mueller.example',
      'https://orders.cafe-mueller.example:8443/cb?x=1',
      first.clientId.slice(0, 12),
    ])
      expect(await found(search), search).toEqual([first.clientId]);
    for (const search of ['back-office', 'office', '127.0.0.1:5001'])
      expect(await found(search), search).toEqual([second.clientId]);
    expect(await found('müller nobody')).toEqual([]);
    expect(await found('müller', { status: 'disabled' })).toEqual([]);
  });

  test.each(["o'neill", "'", '\\', "':*", '& | ! <-> ( ) :*', '%', '\\x00', 'a\\', '   '])(
    'a search takes its text literally: %j (security R107)',
    async (search) => {
      await expect(found(search)).resolves.toBeInstanceOf(Array);
    },
  );

  test('a search combines with the filters and pages through all results, each once (pages, search)', async () => {
    const filters: [ClientFilter, number][] = [
      [{ search: 'made' }, enabled + flood],
      [{ search: 'made.example', status: 'enabled' }, enabled],
      [{ waiting: true }, flood],
      [{ selfRegistered: true, status: 'disabled' }, flood],
    ];
    // small pages, since each statement has the service's deadline, on a busy machine too
    const limit = 250;
    for (const [filter, count] of filters) {
      const seen = new Set<string>();
      let after: { at: Date; id: string } | undefined;
      for (;;) {
        const clients = await service.store.clients.list(filter, page(limit, after));
        for (const { clientId } of clients) seen.add(clientId);
        const last = clients.at(-1);
        if (!last || clients.length < limit) break;
        after = { at: last.createdAt, id: last.clientId };
      }
      expect(seen.size, JSON.stringify(filter)).toBe(count);
    }
  });

  test('a program searches by q of the admin route, and reads which clients registered themselves (decisions section 8)', async () => {
    const token = await adminToken(service);
    const { body } = await call(`${service.issuer}/register`, {
      body: { client_name: 'Itself', redirect_uris: ['https://itself.example/cb'] },
    });
    const list = async (query: string) =>
      (
        (await call(`${service.issuer}/admin/api/clients?${query}`, { method: 'GET', token })).body[
          'clients'
        ] as Record<string, unknown>[]
      ).map(({ client_id, self_registered }) => [client_id, self_registered]);
    expect(await list('q=itself&waiting=true')).toEqual([[body['client_id'], true]]);
    expect(await list('q=itself&self_registered=false')).toEqual([]);
  });
});

describe('look-alike names', () => {
  const lookAlikes = async (name: string) =>
    ((await service.store.clientReview.lookAlikes([{ clientId: 'nobody', name }])).get('nobody') ?? []).map(
      ({ name, same }) => [name, same],
    );

  test.each([
    ['Harbour', true],
    ['HARB0UR', true],
    ['Hаrbоur', true], // Cyrillic а and о
    ['Ηαrbour', true], // Greek Η and α
    ['Ｈａｒｂｏｕｒ', true],
    ['H a r b o u r.', true],
    ['Härbour', true],
    ['Harbor', false],
    ['Harbouur', false],
    ['Harbour sign-in', false],
  ])('the name %s looks like that of an enabled client (security R48)', async (name, same) => {
    await sql(`DELETE FROM clients WHERE metadata ->> 'client_name' = 'Harbour'`);
    await named('Harbour');
    expect(await lookAlikes(name)).toEqual([['Harbour', same]]);
  });

  test.each(['Hafen', 'Harb', 'Hallway', '', '...'])('the name %j looks like that of no client', async (name) => {
    expect(await lookAlikes(name)).toEqual([]);
  });

  test('the name of a client that is not enabled causes no warning', async () => {
    await service.createClient({ client_name: 'Lantern' }, { status: 'disabled' });
    expect(await lookAlikes('Lantern')).toEqual([]);
  });
});

test('a redirect host is known since the first approved client that had it (pages, search)', async () => {
  const host = 'tide.example';
  const client = await service.createClient({ redirect_uris: [`https://${host}/cb`] }, { status: 'disabled' });
  const known = async () => (await service.store.clientReview.hosts([host]))[0]!;
  expect(await known()).toEqual({ host, since: undefined, clients: 0 });
  await sql(
    `INSERT INTO clients (client_id, status, approved_by, metadata, shared_secret_encrypted)
     SELECT 'by-nobody', 'enabled', 'automatic', metadata || '{"token_endpoint_auth_method": "none"}', shared_secret_encrypted FROM clients WHERE client_id = $1`,
    [client.clientId],
  );
  expect(await known()).toEqual({ host, since: undefined, clients: 1 });
  await sql(`DELETE FROM clients WHERE client_id = 'by-nobody'`);
  await sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [client.clientId]);
  const { since } = await known();
  expect(await known()).toEqual({ host, since: expect.any(Date), clients: 1 });
  await service.createClient({
    redirect_uris: [`https://${host}/other`, 'com.example.tide:/cb'],
    application_type: 'native',
  });
  expect(await known()).toEqual({ host, since, clients: 2 });
  expect((await service.store.clientReview.hosts(['com.example.tide:']))[0]).toMatchObject({ clients: 1 });
});

test("an update's changes are listed member by member (security R45)", () => {
  const uris = { redirect_uris: ['https://a.example/cb', 'https://b.example/cb'] };
  const before = parseClientMetadata({ ...uris, client_name: 'Harbour', scope: 'openid profile' });
  const after = parseClientMetadata({
    redirect_uris: ['https://b.example/cb', 'https://c.example/cb'],
    scope: 'profile openid email',
    client_name: 'Harbour 2',
    require_pkce: true,
  });
  expect(metadataDifference(before, after)).toEqual([
    { member: 'client_name', added: ['Harbour 2'], removed: ['Harbour'], kept: [] },
    {
      member: 'redirect_uris',
      added: ['https://c.example/cb'],
      removed: ['https://a.example/cb'],
      kept: ['https://b.example/cb'],
    },
    { member: 'require_pkce', added: ['true'], removed: ['false'], kept: [] },
    { member: 'scope', added: ['email'], removed: [], kept: ['profile', 'openid'] },
  ]);
  expect(metadataDifference(before, before)).toEqual([]);
  // stored before this switch existed
  const older: Partial<ClientMetadata> = { ...before };
  delete older.id_token_claims;
  expect(metadataDifference(older as ClientMetadata, before)).toEqual([]);
});

describe('no query of the console about clients reads a whole table (pages, search)', () => {
  const large = ['clients', 'known_redirect_hosts'];
  /** The plans of all statements that `ask` sends; each statement still gets its answer. */
  async function plansOf(ask: (repositories: Repositories) => Promise<unknown>): Promise<string[]> {
    const plans: string[] = [];
    await ask(
      createStore({
        query: async <Row>({ text }: { text: string }, values: unknown[] = []) => {
          const plan = await sql<Record<string, string>>(`EXPLAIN ${text}`, values);
          plans.push(plan.map((row) => row['QUERY PLAN']).join('\n'));
          return (await sql(text, values)) as Row[];
        },
      } as unknown as Database),
    );
    return plans;
  }
  const questions: [string, ClientFilter][] = [
    ['all', {}],
    ['of a status', { status: 'enabled' }],
    ['of a status that few have', { status: 'disabled' }],
    ['waiting', { waiting: true }],
    ['self-registered', { selfRegistered: true }],
    ['found by a word', { search: 'made-77' }],
    ['found by a host, of a status', { search: 'h1400.made.example', status: 'enabled' }],
    ['waiting, found by a word', { search: 'made-29', waiting: true }],
    ['found by a word that nearly all have', { search: 'made' }],
  ];

  test.each(questions)('the list of clients, %s', async (_what, filter) => {
    const after = page(25, { at: new Date(), id: 'z' });
    const plans = await plansOf(async ({ clients }) => {
      await clients.list(filter, after);
      await clients.list({ ...filter, oldestFirst: true }, after);
    });
    expect(plans.length).toBe(2);
    for (const plan of plans) expect(plan).not.toContain('Seq Scan on clients');
  });

  test('look-alikes, hosts, origins, figures and sessions', async () => {
    const plans = await plansOf(async ({ clientReview, logoutDeliveries }) => {
      await clientReview.lookAlikes([{ clientId: 'nobody', name: 'Made 12345' }]);
      await clientReview.hosts(['h1400.made.example', 'other.example']);
      await clientReview.origins(['made-1', 'made-2900']);
      await clientReview.figures('made-1', 100);
      await clientReview.sessions('made-1', 10);
      await logoutDeliveries.list({ clientId: 'made-1', status: undefined }, page(10));
    });
    expect(plans.length).toBe(6);
    for (const plan of plans)
      for (const table of large) expect(plan).not.toMatch(new RegExp(`Seq Scan on ${table}\\b`));
  });
});
