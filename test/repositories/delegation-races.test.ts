// Ends what an exchange, an assertion or an authorization with details depends on between each step, on two instances over one database; and redeems many times at once.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asDetails } from '../helpers/authorization-details.ts';
import { exchange, exchangeMetadata, made } from '../helpers/exchange.ts';
import { adminToken, type Answer, obtainCode, redeem, refresh, withoutLimits } from '../helpers/grants.ts';
import { assertionMetadata, createIssuer } from '../helpers/issuer.ts';
import { jwtBearerGrant } from '../../src/oauth/registrable-values.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

let service: TestService;
let token: string;
const ledger = 'https://ledger.example/';
const scopes = [{ value: 'ledger.read' }];
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
  await made(service, token, 'resources', { resource: ledger, name: 'Ledger', scopes });
});
afterAll(() => service?.stop());

let number = 0;
const change = (path: string, body: object) => made(service, token, path, body, 'PATCH');
const off = { status: 'disabled' };
const tokenOf = ({ body }: Answer) => String(body['access_token']);
const detailsIn = ({ body }: Answer) => body['authorization_details'];

/** A user, an application and a gateway with its policy, an issuer with its client, and a type of details, of one round. */
async function world() {
  const at = `${(number += 1)}`;
  const type = `type-${at}`;
  const schema = { type: 'object', properties: { account: { type: 'string' } } };
  await made(service, token, 'authorization-details-types', { type, schema, text: { en: 'Read {account}' } });
  const app = await service.createClient({
    scope: 'openid offline_access',
    grant_types: ['authorization_code', 'refresh_token'],
    authorization_details_types: [type],
  });
  const user = await service.createUser();
  const client = await service.createClient(exchangeMetadata);
  const agent = await service.createClient(assertionMetadata);
  const uri = `https://gateway-${at}.example/`;
  const api = { resource: uri, name: 'Gateway', client_id: client.clientId, scopes, clients: 'approved' };
  await made(service, token, 'resources', api);
  const policy = await made(service, token, 'exchange-policies', {
    name: `steps ${at}`,
    client_id: client.clientId,
    subject_clients: [app.clientId],
    resources: [ledger],
    scopes: ['ledger.read'],
  });
  const partner = await createIssuer(`https://partner-${at}.example`);
  const issuer = await made(service, token, 'trusted-issuers', {
    name: `Partner ${at}`,
    issuer: partner.issuer,
    jwks: partner.jwks,
    algorithms: ['ES256'],
    links: [{ subject: 'there', user: user.sub }],
    clients: [agent.clientId],
    resources: [ledger],
    scopes: ['ledger.read'],
  });
  return { app, user, client, agent, uri, type, partner, policy: String(policy['id']), issuer: String(issuer['id']) };
}
type World = Awaited<ReturnType<typeof world>>;

const ends = {
  'the user': ({ user }) => change(`users/${user.sub}`, off),
  'the application': ({ app }) => change(`clients/${app.clientId}`, off),
  'the client that exchanges': ({ client }) => change(`clients/${client.clientId}`, off),
  'the policy': ({ policy }) => change(`exchange-policies/${policy}`, off),
  'the issuer': ({ issuer }) => change(`trusted-issuers/${issuer}`, off),
  'the client of the assertion': ({ agent }) => change(`clients/${agent.clientId}`, off),
  'the type': ({ type }) => change(`authorization-details-types/${type}`, off),
} satisfies Record<string, (of: World) => Promise<unknown>>;
type Ended = keyof typeof ends;

const [one, two] = [() => service.instances[0]!, () => service.instances[1]!];
const codeOf = ({ app, user, uri, type }: World) =>
  obtainCode(service, app, user, {
    scope: 'openid offline_access ledger.read',
    resource: uri,
    ...asDetails({ type, account: 'A' }),
  });

/** What each step needs, and the step on the other instance after the end of it. */
const steps: [step: string, of: readonly Ended[], run: (of: World, end: () => Promise<unknown>) => Promise<Answer>][] =
  [
    [
      'the redemption of a code',
      ['the user', 'the application'],
      async (of, end) => {
        const code = await codeOf(of);
        await end();
        return redeem(two(), of.app, code);
      },
    ],
    [
      'a refresh',
      ['the user', 'the application'],
      async (of, end) => {
        const { body } = await redeem(one(), of.app, await codeOf(of));
        await end();
        return refresh(two(), of.app, String(body['refresh_token']));
      },
    ],
    [
      'an exchange',
      ['the user', 'the application', 'the client that exchanges', 'the policy'],
      async (of, end) => {
        const given = tokenOf(await redeem(one(), of.app, await codeOf(of)));
        await end();
        return exchange(two(), of.client, given);
      },
    ],
    [
      'an assertion',
      ['the user', 'the issuer', 'the client of the assertion'],
      async (of, end) => {
        const assertion = await of.partner.sign(service.issuer, { sub: 'there' });
        await end();
        return tokenRequest(two(), of.agent, { grant_type: jwtBearerGrant, assertion });
      },
    ],
  ];

test.each(steps.flatMap(([step, of, run]) => of.map((what) => ({ step, what, run }))))(
  'after the end of $what nothing is issued by $step on another instance (security R133, R145, R146)',
  async ({ what, run }) => {
    const [good, bad] = [await world(), await world()];
    expect((await run(good, () => Promise.resolve())).status).toBe(200);
    expect((await run(bad, () => ends[what](bad))).status).toBeGreaterThanOrEqual(400);
  },
);

test.each<[Ended, boolean]>([
  ['the user', false],
  ['the application', false],
  ['the client that exchanges', false],
  ['the policy', true],
])(
  'after the end of %s a token of an exchange is worth nothing, unless a policy alone ended (security R145)',
  async (what, stays) => {
    const of = await world();
    const server = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
    await change(`resources/${encodeURIComponent(ledger)}`, { client_id: server.clientId });
    const given = tokenOf(await redeem(one(), of.app, await codeOf(of)));
    const issued = tokenOf(await exchange(one(), of.client, given));
    const active = async () => (await introspect(two(), server, issued)).body['active'];
    expect(await active()).toBe(true);
    await ends[what](of);
    expect(await active()).toBe(stays);
  },
);

test('fifty redemptions of a code with details get one set of tokens, on two instances (security R15, R142)', async () => {
  const of = await world();
  const code = await codeOf(of);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => redeem(service.instances[index % 2]!, of.app, code)),
  );
  const good = answers.filter(({ status }) => status === 200);
  expect(good).toHaveLength(1);
  expect(detailsIn(good[0]!)).toEqual([{ type: of.type, account: 'A', id: expect.any(String) }]);
  expect(answers.filter(({ status }) => status !== 200 && status !== 400)).toEqual([]);
});

test('while the type is disabled, fifty refreshes get its details or none, and afterwards none (security R133, R142)', async () => {
  for (let round = 0; round < 3; round++) {
    const of = await world();
    const { body } = await redeem(one(), of.app, await codeOf(of));
    const send = (index: number) => refresh(service.instances[index % 2]!, of.app, String(body['refresh_token']));
    const before = Array.from({ length: 25 }, (_, index) => send(index));
    const disabled = ends['the type'](of);
    const answers = await Promise.all([...before, ...Array.from({ length: 25 }, (_, index) => send(index))]);
    await disabled;
    expect(answers.filter(({ status }) => status !== 200 && status !== 400)).toEqual([]);
    const stored = `SELECT count(*)::int AS n FROM access_tokens WHERE details::text LIKE '%"' || $1 || '"%'`;
    const [{ n: issued } = { n: -1 }] = await service.database.sql<{ n: number }>(stored, [of.type]);
    for (let index = 0; index < 4; index++) expect(detailsIn(await send(index))).toBeUndefined();
    const [{ n: later } = { n: -2 }] = await service.database.sql<{ n: number }>(stored, [of.type]);
    expect(later).toBe(issued);
  }
});

test('the statement that issues a code refuses details that its user was not shown, and those with fewer members (security R142)', async () => {
  const of = await world();
  await codeOf(of);
  const [session] = await service.database.sql<{ id: string }>('SELECT id::text FROM sessions WHERE sub = $1', [
    of.user.sub,
  ]);
  const shown = { type: of.type, account: 'A' };
  const issue = async (app: TestClient, details: { type: string }[]) => {
    const { version } = (await service.store.clients.find(app.clientId))!;
    const outcome = await service.store.authorizationCodes.issue({
      codeHash: randomBytes(32),
      accessTokenHash: undefined,
      sessionId: session!.id,
      clientId: app.clientId,
      clientVersion: version,
      scope: ['openid'],
      claims: [],
      requested: undefined,
      offline: false,
      redirectUri: app.redirectUri,
      nonce: undefined,
      codeChallenge: undefined,
      codeBinding: 'none',
      audience: undefined,
      resources: [],
      details,
      shownDetails: [shown],
      subject: undefined,
      lifetime: 60,
      accessTokenLifetime: 60,
      clientSessionLifetime: 120,
      requestHash: undefined,
      maxCodes: 5,
      maxPerMinute: 0,
      address: undefined,
    });
    return 'refusal' in outcome ? outcome.refusal : 'issued';
  };
  const decided = (...details: { type: string }[]) => issue(of.app, details);
  expect(await decided({ ...shown })).toBe('issued');
  expect(await decided({ type: of.type })).toBe('ended');
  expect(await decided({ ...shown, account: 'B' } as { type: string })).toBe('ended');
  expect(await decided(shown, { type: of.type })).toBe('ended');
});
