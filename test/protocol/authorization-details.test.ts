// Asks users to allow one thing exactly: authorization details at every address that takes them, on the consent page, and in tokens (RFC 9396).
import { decodeJwt, SignJWT } from 'jose';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tokenTypes } from '../../src/oauth/token-exchange.ts';
import { asDetails, payment, paymentDeclaration, paymentType } from '../helpers/authorization-details.ts';
import { deviceCodes, deviceMetadata, poll } from '../helpers/device.ts';
import { eventsOf } from '../helpers/events.ts';
import { exchange, exchangeMetadata, made } from '../helpers/exchange.ts';
import { adminToken, type Answer, call, redeem, refresh, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  pkce,
  responseParameters,
  tokenRequest,
  UserAgent,
} from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

const one = 'https://bank.example/one';
const two = 'https://bank.example/two';
/** Of the resource one only, of both, and of none. */
const [transfer, statement, note] = ['transfer', 'statement', 'https://notes.example/note'];
const types = [paymentType, transfer, statement, note, 'batch', 'own'];
const plain = { type: 'object', properties: { account: { type: 'string' }, limit: { type: 'number' } } };

let service: TestService;
let token: string;
let client: TestClient;
let servers: TestClient[];
let alice: TestUser;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, DEVICE_GRANT: 'on' } });
  token = await adminToken(service);
  servers = await Promise.all([service.createClient(), service.createClient()]);
  const api = (index: number, more: object) =>
    made(service, token, 'resources', {
      name: `Bank ${index}`,
      client_id: servers[index]!.clientId,
      clients: 'approved',
      ...more,
    });
  await api(0, { resource: one, access_token_format: 'jwt' });
  await api(1, { resource: two });
  const type = (declared: object) => made(service, token, 'authorization-details-types', { ...declared });
  await type(paymentDeclaration);
  await type({ type: transfer, schema: plain, text: { en: 'Transfer from {account}' }, resources: [one] });
  await type({
    type: statement,
    schema: plain,
    text: { en: 'Read {account}' },
    resources: [one, two],
    remembered: true,
  });
  await type({ type: note, schema: plain, text: { en: 'Write a note' } });
  await type({ type: 'batch', schema: plain, text: { en: 'Pay from {account}' }, removable: true });
  await type({ type: 'own', schema: plain, text: { en: 'Own' }, resources: [two], without_user: true });
  client = await createClient();
  alice = await service.createUser({ username: 'alice' });
});
afterAll(() => service?.stop());

const createClient = (metadata: object = {}) =>
  service.createClient({
    scope: 'openid offline_access',
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    authorization_details_types: types,
    ...metadata,
  });

const tokenOf = ({ body }: Answer) => String(body['access_token']);
const detailsIn = (body: Record<string, unknown>) => body['authorization_details'];
const seen = async (access: string, by: TestClient) => (await introspect(service.issuer, by, access)).body;

/** A browser that is signed in as Alice or as another user. */
async function browser(user = alice): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
}

/** The page that a request leads to: the consent page, or the answer to the client. */
async function ask(agent: UserAgent, parameters: Record<string, string>, of = client): Promise<Page> {
  const url = new URL(authorizationUrl(service.issuer, of, { scope: 'openid', ...parameters }));
  return agent.follow(await agent.get(url.pathname + url.search));
}

const allow = async (agent: UserAgent, page: Page, fields: Record<string, string> = {}) =>
  responseParameters(
    await agent.follow(
      await agent.post('/consent', { ...hiddenFields(page.body), ...keptIn(page), decision: 'allow', ...fields }),
    ),
  );

/** The fields by which the page keeps objects: a browser sends those of the checked boxes. */
const keptIn = ({ body }: Page) =>
  Object.fromEntries([...body.matchAll(/name="(keep_\d+)" value="yes"/g)].map(([, name]) => [name!, 'yes']));

/** The tokens of a request that the user allows. */
async function obtain(parameters: Record<string, string>, of = client, at: Record<string, string> = {}) {
  const agent = await browser();
  const answer = await allow(agent, await ask(agent, parameters, of));
  return redeem(service.issuer, of, answer['code']!, at);
}

describe('the applications page of the account', () => {
  const remembered = { schema: plain, text: { en: 'See {account}', de: '{account} sehen' }, remembered: true };
  const shown = { account: '<b>B</b>', limit: 2 };
  const wordsOf = (page: Page) => page.body.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
  const at = (name: string) => `authorization-details-types/${name}`;

  test('shows what the user allowed and the service remembers, in words and in full, and nothing else (RFC 9396 7.1, security R93, R142)', async () => {
    await made(service, token, 'authorization-details-types', { type: 'ledger', ...remembered });
    const own = await createClient({ authorization_details_types: [...types, 'ledger'] });
    const user = await service.createUser();
    const agent = await browser(user);
    await allow(agent, await ask(agent, asDetails({ type: 'ledger', ...shown }, { type: note, account: 'Once' }), own));
    const page = await agent.get('/account/applications');
    expect(wordsOf(page)).toContain(
      'You allowed exactly this See &lt;b&gt;B&lt;/b&gt; type ledger limit 2 account &lt;b&gt;B&lt;/b&gt;',
    );
    expect(page.body).not.toContain('Once');
    const german = wordsOf(await agent.get('/account/applications?locale=de'));
    expect(german).toContain('Sie haben genau dies erlaubt &lt;b&gt;B&lt;/b&gt; sehen');
    const { body } = await call(`${service.issuer}/admin/api/users/${user.sub}/grants`, { token });
    expect(body['grants']).toEqual([
      expect.objectContaining({ client_id: own.clientId, authorization_details: [{ type: 'ledger', ...shown }] }),
    ]);
    // other words and members of the type change nothing of what was allowed
    await made(
      service,
      token,
      at('ledger'),
      { schema: { type: 'object', properties: {} }, text: { en: 'Other' } },
      'PATCH',
    );
    expect(wordsOf(await agent.get('/account/applications?locale=en'))).toContain(
      'type ledger limit 2 account &lt;b&gt;B&lt;/b&gt;',
    );
    // nor does the end of the type
    expect((await call(`${service.issuer}/admin/api/${at('ledger')}`, { method: 'DELETE', token })).status).toBe(204);
    expect(wordsOf(await agent.get('/account/applications'))).toContain(
      'You allowed exactly this type ledger limit 2 account &lt;b&gt;B&lt;/b&gt;',
    );
  });

  test('forgets them with the access of the application, so that the user is asked again (RFC 9396 7.1, security R142)', async () => {
    await made(service, token, 'authorization-details-types', { type: 'journal', ...remembered });
    const own = await createClient({ authorization_details_types: ['journal'] });
    const agent = await browser(await service.createUser());
    const journal = asDetails({ type: 'journal', ...shown });
    const { code } = await allow(agent, await ask(agent, journal, own));
    const { body } = await redeem(service.issuer, own, code!);
    const silent = () => ask(agent, { ...journal, prompt: 'none' }, own).then(responseParameters);
    expect((await silent())['code']).toBeDefined();
    const left = await agent.submit(await agent.get('/account/applications'), { withdraw: own.clientId });
    expect(wordsOf(left)).not.toContain('journal');
    expect(await silent()).toMatchObject({ error: 'consent_required' });
    expect(await seen(String(body['access_token']), own)).toEqual({ active: false });
    // the consent to less brings nothing back
    await allow(agent, await ask(agent, {}, own));
    expect(wordsOf(await agent.get('/account/applications'))).not.toContain('journal');
    expect(await silent()).toMatchObject({ error: 'consent_required' });
  });
});

describe('a request', () => {
  test('with details shows each in full, and its tokens have what was allowed, with an identifier (RFC 9396 5, 7, 9.2)', async () => {
    const agent = await browser();
    const page = await ask(agent, asDetails(payment, { type: note, account: 'A', limit: 0.1 }));
    expect(page.url).toContain('/consent');
    expect(page.body.replace(/<[^>]+>/g, '')).toContain('Pay 123.50 EUR to Merchant A');
    const words = page.body.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
    for (const value of ['amount.value 123.50', 'payee.iban DE89370400440532013000', 'limit 0.1'])
      expect(words).toContain(value);
    const { code } = await allow(agent, page);
    const answer = await redeem(service.issuer, client, code!);
    expect(detailsIn(answer.body)).toEqual([
      { ...payment, id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      { type: note, account: 'A', limit: 0.1, id: expect.any(String) },
    ]);
    expect(detailsIn(await seen(tokenOf(answer), client))).toEqual(detailsIn(answer.body));
    const [granted] = await eventsOf(service, { type: 'consent.granted', clientId: client.clientId });
    expect(granted!.detail).toMatchObject({ authorization_details: [paymentType, note] });
  });

  test('reaches the page in the language of the user, and a hostile value is text (security R142)', async () => {
    const agent = await browser();
    const long = `${'<b>"&'.repeat(27)}{x}`;
    const page = await ask(agent, { ...asDetails({ ...payment, note: long }), ui_locales: 'de' });
    expect(page.body.replace(/<[^>]+>/g, '')).toContain('123.50 EUR an Merchant A zahlen');
    expect(page.body).not.toContain('<b>');
    expect(page.body.split('&lt;b&gt;')).toHaveLength(28);
    expect(page.body).toMatch(/<bdi>(&lt;b&gt;|&lt;b>)/);
  });

  test('can be pushed, up to 16 KiB, and can be a signed request object (protocols P58)', async () => {
    const push = (fields: Record<string, string>) =>
      fetch(`${service.issuer}/par`, {
        method: 'POST',
        headers: { authorization: client.basic },
        body: new URLSearchParams({
          response_type: 'code',
          redirect_uri: client.redirectUri,
          scope: 'openid',
          ...fields,
        }),
      }).then(async (answer) => ({ status: answer.status, body: (await answer.json()) as Record<string, string> }));
    for (const wrong of [{ type: 'unknown' }, { type: note, account: 'a'.repeat(17 * 1024) }])
      expect(await push(asDetails(wrong))).toMatchObject({
        status: 400,
        body: { error: 'invalid_authorization_details' },
      });
    const { body } = await push(asDetails(payment));
    const agent = await browser();
    const query = new URLSearchParams({ client_id: client.clientId, request_uri: body['request_uri']! });
    const page = await agent.follow(await agent.get(`/authorize?${query.toString()}`));
    expect(page.body).toContain('Merchant A');

    const signing = await createClient({ request_object_signing_alg: 'HS256' });
    const object = await new SignJWT({
      response_type: 'code',
      client_id: signing.clientId,
      redirect_uri: signing.redirectUri,
      scope: 'openid',
      authorization_details: [payment],
    })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(signing.clientId)
      .setAudience(service.issuer)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(Buffer.from(signing.clientSecret));
    expect((await ask(await browser(), { request: object }, signing)).body).toContain('Merchant A');
  });

  test.each<[string, string | object[]]>([
    ['an unknown type', [{ type: 'unknown' }]],
    ['no type', [{ amount: 1 }]],
    ['a further member', [{ ...payment, more: 1 }]],
    ['an identifier of its own', [{ ...payment, id: 'x' }]],
    ['a text where a number is', [{ ...payment, limit: '1' }]],
    ['a number below the minimum', [{ ...payment, limit: -1 }]],
    ['a number beyond all', JSON.stringify([{ ...payment, limit: 0 }]).replace('"limit":0', '"limit":1e400')],
    ['a wrong check digit', [{ ...payment, payee: { name: 'A', iban: 'DE88370400440532013000' } }]],
    ['no currency', [{ ...payment, amount: { value: '1', currency: 'EURO' } }]],
    ['no day', [{ ...payment, on: '2026-02-30' }]],
    ['an object where a text is', [{ ...payment, note: {} }]],
    ['too many items', [{ ...payment, tags: ['a', 'b', 'c', 'd'] }]],
    ['a missing member', [{ type: paymentType, amount: payment.amount }]],
    ['a direction override', [{ ...payment, note: 'a\u202eb' }]],
    ['a line break', [{ ...payment, note: 'a\nb' }]],
    ['nine levels', `[${'{"type":"note","a":'.repeat(9)}1${'}'.repeat(9)}]`],
    ['twenty-one objects', Array.from({ length: 21 }, (_, limit) => ({ type: note, limit }))],
    ['a type twice', '[{"type":"transfer","type":"payment_initiation"}]'],
    ['an object twice', [payment, payment]],
    ['locations of another resource', [{ type: transfer, locations: [two] }]],
    ['locations without a list', [{ type: transfer, locations: one }]],
    ['locations of a type without resources', [{ type: note, locations: [one] }]],
    ['no list', '{}'],
    ['an empty list', []],
    ['no JSON', '['],
  ])('with %s is refused, and tells the client (protocols P58)', async (_name, sent) => {
    const parameter = typeof sent === 'string' ? { authorization_details: sent } : asDetails(...sent);
    expect(responseParameters(await ask(await browser(), parameter))).toMatchObject({
      error: 'invalid_authorization_details',
    });
  });

  test('names a refused object by its index, and repeats nothing that is no plain name (protocols 5.6)', async () => {
    const refused = async (detail: object) =>
      responseParameters(await ask(await browser(), asDetails(payment, detail)))['error_description'];
    expect(await refused({ ...payment, more: 1 })).toBe(
      'authorization_details[1] does not follow the schema of its type: more',
    );
    expect(await refused({ ...payment, 'a"<b>': 1 })).toBe(
      'authorization_details[1] does not follow the schema of its type',
    );
  });

  test('for a type that the client is not registered for is refused like an unknown one (RFC 9396 10)', async () => {
    const other = await createClient({ authorization_details_types: [note] });
    const answers = await Promise.all(
      [payment, { type: 'unknown' }].map(async (detail) =>
        responseParameters(await ask(await browser(), asDetails(detail), other)),
      ),
    );
    expect(answers[0]).toMatchObject({ error: 'invalid_authorization_details' });
    expect(answers[0]!['error_description']).toBe(answers[1]!['error_description']);
  });

  test('with details gets no token through a browser (RFC 9396 2)', async () => {
    const implicit = await createClient({
      response_types: ['code', 'code token'],
      grant_types: ['authorization_code', 'implicit'],
    });
    const page = await ask(await browser(), { ...asDetails(payment), response_type: 'code token' }, implicit);
    expect(page.location).toContain('error=invalid_request');
  });
});

describe('consent', () => {
  test('is asked each time, and prompt=none gets no details (protocols P60)', async () => {
    const agent = await browser();
    await allow(agent, await ask(agent, asDetails(payment)));
    expect((await ask(agent, asDetails(payment))).url).toContain('/consent');
    expect(responseParameters(await ask(agent, { ...asDetails(payment), prompt: 'none' }))).toMatchObject({
      error: 'consent_required',
    });
  });

  test('is remembered for a type that allows it, for the same object alone: one with fewer members is another one (protocols P60)', async () => {
    const agent = await browser(await service.createUser());
    const small = { type: statement, account: 'A', limit: 1 };
    await allow(agent, await ask(agent, asDetails(small)));
    expect(responseParameters(await ask(agent, asDetails(small)))).toHaveProperty('code');
    for (const other of [
      { type: statement, account: 'A' },
      { ...small, limit: 2 },
    ]) {
      expect(responseParameters(await ask(agent, { ...asDetails(other), prompt: 'none' }))).toMatchObject({
        error: 'consent_required',
      });
      await allow(agent, await ask(agent, asDetails(other)));
      expect(responseParameters(await ask(agent, { ...asDetails(other), prompt: 'none' }))).toHaveProperty('code');
    }
    const remember = (remembered: boolean) =>
      made(service, token, `authorization-details-types/${statement}`, { remembered }, 'PATCH');
    await remember(false);
    // what was remembered before counts no more
    expect((await ask(agent, asDetails(small))).url).toContain('/consent');
    await remember(true);
  });

  test('is asked of a first-party client, too: nobody allows a payment by opening a page (security R142)', async () => {
    const { clientId } = await service.createClient();
    const own = await service.createClient({ authorization_details_types: types }, { firstParty: true });
    expect(clientId).toBeDefined();
    expect((await ask(await browser(), asDetails(payment), own)).body).toContain('Merchant A');
  });

  test('can leave out single objects where the type says so, and never others (protocols 5.6)', async () => {
    const agent = await browser();
    const [first, second] = [
      { type: 'batch', account: 'A' },
      { type: 'batch', account: 'B' },
    ];
    const page = await ask(agent, asDetails(payment, first, second));
    expect(keptIn(page)).toEqual({ keep_1: 'yes', keep_2: 'yes' });
    const { code } = await allow(agent, page, { keep_0: '', keep_1: '' });
    const { body } = await redeem(service.issuer, client, code!);
    expect(detailsIn(body)).toEqual([
      { ...payment, id: expect.any(String) },
      { ...second, id: expect.any(String) },
    ]);
  });

  test('holds for the details that the page showed: a stored request that changed issues nothing (security R142)', async () => {
    const agent = await browser();
    const page = await ask(agent, asDetails(payment));
    // what a fault or an attack on the stored row would do between the page and the answer
    const sent = await agent.post('/consent', { ...hiddenFields(page.body), decision: 'allow' });
    await service.database.sql(
      `UPDATE authorization_requests SET parameters = jsonb_set(parameters, '{authorization_details}', to_jsonb($1::text)) WHERE decision IS NOT NULL`,
      [JSON.stringify([{ ...payment, amount: { value: '999', currency: 'EUR' } }])],
    );
    const answer = responseParameters(await agent.follow(sent));
    const { body } = await redeem(service.issuer, client, answer['code']!);
    expect(detailsIn(body)).toBeUndefined();
  });

  test('asks for the level that the type demands (RFC 9470 4)', async () => {
    await made(service, token, 'authorization-details-types', {
      type: 'strong',
      schema: plain,
      text: { en: 'Strong' },
      required_acr: 'urn:gatehouse:acr:mfa',
    });
    const strict = await createClient({ authorization_details_types: ['strong'] });
    expect((await ask(await browser(), asDetails({ type: 'strong' }), strict)).url).not.toContain('/consent');
  });
});

describe('tokens', () => {
  test('have the details of their resource, and each server reads its own only (protocols P60)', async () => {
    const details = asDetails(
      { type: transfer, account: 'A' },
      { type: statement, account: 'B' },
      { type: statement, account: 'C', locations: [two] },
    );
    const scope = 'openid offline_access';
    const agent = await browser();
    const { code } = await allow(agent, await ask(agent, { ...details, scope }));
    const first = await redeem(service.issuer, client, code!, { resource: one });
    expect(detailsIn(first.body)).toMatchObject([{ account: 'A' }, { account: 'B' }]);
    expect(detailsIn(decodeJwt(tokenOf(first)))).toEqual(detailsIn(first.body));
    const second = await refresh(service.issuer, client, String(first.body['refresh_token']), { resource: two });
    expect(detailsIn(second.body)).toMatchObject([{ account: 'B' }, { account: 'C' }]);
    expect(detailsIn(await seen(tokenOf(second), servers[1]!))).toMatchObject([{ account: 'B' }, { account: 'C' }]);
    expect(await seen(tokenOf(second), servers[0]!)).toEqual({ active: false });
    expect(detailsIn(await seen(tokenOf(first), servers[0]!))).toMatchObject([{ account: 'A' }, { account: 'B' }]);
  });

  test('may be narrowed to equal objects and to nothing else (RFC 9396 6)', async () => {
    const details = [
      { type: note, account: 'A', limit: 5 },
      { type: note, account: 'B' },
    ];
    const agent = await browser();
    const { code } = await allow(agent, await ask(agent, { ...asDetails(...details), scope: 'openid offline_access' }));
    for (const more of [
      { type: note, account: 'A' },
      { ...details[0]!, limit: 4 },
      { ...details[0]!, limit: 50 },
    ])
      expect(await redeem(service.issuer, client, code!, asDetails(more))).toMatchObject({
        status: 400,
        body: { error: 'invalid_authorization_details' },
      });
    // the code stayed as it was
    const first = await redeem(service.issuer, client, code!, asDetails(details[0]!));
    expect(detailsIn(first.body)).toMatchObject([details[0]!]);
    const [granted] = detailsIn(first.body) as Record<string, unknown>[];
    const line = String(first.body['refresh_token']);
    expect(await refresh(service.issuer, client, line, asDetails({ ...details[1]!, limit: 1 }))).toMatchObject({
      status: 400,
      body: { error: 'invalid_authorization_details' },
    });
    // narrowing is for this access token alone
    const whole = await refresh(service.issuer, client, line);
    expect(detailsIn(whole.body)).toMatchObject(details);
    const narrow = await refresh(service.issuer, client, String(whole.body['refresh_token']), asDetails(granted!));
    expect(detailsIn(narrow.body)).toEqual([granted]);
    expect(detailsIn(await seen(tokenOf(narrow), client))).toEqual([granted]);
  });

  test('cannot get details by a later request when the user allowed none (RFC 9396 6)', async () => {
    const bare = await obtain({ scope: 'openid offline_access', prompt: 'consent' });
    const line = String(bare.body['refresh_token']);
    expect(await refresh(service.issuer, client, line, asDetails(payment))).toMatchObject({
      body: { error: 'invalid_authorization_details' },
    });
    expect(detailsIn((await refresh(service.issuer, client, line)).body)).toBeUndefined();
  });

  test('have no details of a type that an administrator disabled, or took from the client, meanwhile (security R133)', async () => {
    const type = { type: 'closing', schema: plain, text: { en: 'Closing' } };
    await made(service, token, 'authorization-details-types', type);
    const own = await createClient({ authorization_details_types: ['closing', note] });
    const agent = await browser();
    const codeFor = async () => (await allow(agent, await ask(agent, asDetails({ type: 'closing' }), own)))['code']!;
    const [waiting, other] = [await codeFor(), await codeFor()];
    await made(service, token, 'authorization-details-types/closing', { status: 'disabled' }, 'PATCH');
    const issued = await redeem(service.instances[1]!, own, waiting);
    expect([issued.status, detailsIn(issued.body)]).toEqual([200, undefined]);
    await made(service, token, 'authorization-details-types/closing', { status: 'enabled' }, 'PATCH');
    await service.database.sql(
      `UPDATE clients SET metadata = metadata || '{"authorization_details_types": []}' WHERE client_id = $1`,
      [own.clientId],
    );
    expect(detailsIn((await redeem(service.issuer, own, other)).body)).toBeUndefined();
  });

  test('of a client itself have details only of a type that needs no user (protocols 5.6)', async () => {
    const grant = { grant_type: 'client_credentials' };
    const refused = await tokenRequest(service.issuer, client, { ...grant, ...asDetails(payment) });
    expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_authorization_details' } });
    const large = await tokenRequest(service.issuer, client, {
      ...grant,
      ...asDetails({ type: 'own', account: 'a'.repeat(17 * 1024) }),
    });
    expect(large).toMatchObject({ status: 400, body: { error_description: expect.stringContaining('16384 bytes') } });
    const own = { type: 'own', account: 'A' };
    const issued = await tokenRequest(service.issuer, client, { ...grant, ...asDetails(own) });
    expect(detailsIn(issued.body)).toEqual([{ ...own, id: expect.any(String) }]);
    expect(detailsIn(await seen(tokenOf(issued), servers[1]!))).toEqual(detailsIn(issued.body));
    const elsewhere = await tokenRequest(service.issuer, client, { ...grant, ...asDetails(own), resource: one });
    expect(elsewhere.body).toMatchObject({ error: 'invalid_authorization_details' });
  });

  describe('of an exchange', () => {
    let gateway: TestClient;
    let policy: Record<string, unknown>;
    const own = { scopes: [{ value: 'pay' }] };
    const patch = (path: string, body: object) => made(service, token, path, body, 'PATCH');
    const at = (uri: string) => `resources/${encodeURIComponent(uri)}`;
    const letThrough = (...names: string[]) =>
      patch(`exchange-policies/${String(policy['id'])}`, { authorization_details_types: names });
    const registered = (...names: string[]) =>
      patch(`clients/${gateway.clientId}`, { authorization_details_types: names });
    beforeAll(async () => {
      gateway = await service.createClient({ ...exchangeMetadata, authorization_details_types: types });
      policy = await made(service, token, 'exchange-policies', {
        name: 'Bank',
        client_id: gateway.clientId,
        subject_clients: [client.clientId],
        resources: [two],
        scopes: ['pay'],
      });
      await patch(at(one), { ...own, client_id: gateway.clientId });
      await patch(at(two), own);
    });
    afterAll(() => patch(at(one), { client_id: servers[0]!.clientId }));

    const account = { account: 'A' };
    /** A token for the resource one with an object for both, one for the other client's type, and one for every token. */
    const presented = () =>
      obtain({
        ...asDetails({ type: statement, ...account }, { type: transfer, ...account }, { type: note, ...account }),
        scope: 'openid pay',
        resource: one,
      });
    const swap = (given: Answer, fields: Record<string, string> = {}, base = service.issuer) =>
      exchange(base, gateway, tokenOf(given), fields);
    const namesIn = ({ body }: Answer) => (detailsIn(body) as { type: string }[] | undefined)?.map(({ type }) => type);
    const beyond = { status: 400, body: { error: 'invalid_authorization_details' } };

    test('have no details that the policy does not name, and a request for some is refused (security R145)', async () => {
      const given = await presented();
      const swapped = await swap(given);
      expect([swapped.status, swapped.body['issued_token_type']]).toEqual([200, tokenTypes.accessToken]);
      expect(detailsIn(swapped.body)).toBeUndefined();
      expect(detailsIn(await seen(tokenOf(swapped), servers[1]!))).toBeUndefined();
      expect(await swap(given, asDetails({ type: statement, ...account }))).toMatchObject(beyond);
    });

    test('have those of the presented token that the policy names, that are for the resource, and for which the client is registered (RFC 9396 7, security R142, R145)', async () => {
      await letThrough(statement, transfer, note);
      const given = await presented();
      const held = detailsIn(given.body) as { type: string }[];
      expect(held.map(({ type }) => type)).toEqual([statement, transfer, note]);
      // the type of the transfer is for the other resource only
      const expected = held.filter(({ type }) => type !== transfer);
      const swapped = await swap(given, {}, service.instances[1]);
      expect(detailsIn(swapped.body)).toEqual(expected);
      expect(detailsIn(await seen(tokenOf(swapped), servers[1]!))).toEqual(expected);
      // the types alone, and not what the objects say
      const events = await eventsOf(service, { type: 'token.exchanged', clientId: gateway.clientId });
      expect(events.map(({ detail }) => detail['authorization_details'])).toEqual([undefined, [statement, note]]);
      await letThrough(statement);
      expect(namesIn(await swap(given))).toEqual([statement]);
      await letThrough(statement, note);
      await registered(note);
      expect(namesIn(await swap(given))).toEqual([note]);
      expect(await swap(given, asDetails({ type: statement, ...account }))).toMatchObject(beyond);
      await registered(...types);
      await patch(`authorization-details-types/${encodeURIComponent(note)}`, { status: 'disabled' });
      expect(namesIn(await swap(given))).toEqual([statement]);
      await patch(`authorization-details-types/${encodeURIComponent(note)}`, { status: 'enabled' });
    });

    test('can be limited to some of them, each as a whole, and have never more than the presented token (RFC 9396 6, security R142, R145)', async () => {
      await letThrough(statement, transfer, note);
      const given = await presented();
      const [held] = detailsIn(given.body) as Record<string, unknown>[];
      for (const object of [{ type: statement, ...account }, held!]) {
        const swapped = await swap(given, asDetails(object));
        expect(detailsIn(swapped.body)).toEqual([held]);
        expect(detailsIn(await seen(tokenOf(swapped), servers[1]!))).toEqual([held]);
      }
      const wrong = [
        { type: statement, account: 'B' },
        { type: statement, ...account, limit: 1 },
        { type: statement },
        { type: statement, ...account, locations: [two] },
        { ...held, id: 'another' },
        { type: transfer, ...account },
        payment,
      ];
      for (const object of wrong)
        expect(await swap(given, asDetails(object)), JSON.stringify(object)).toMatchObject(beyond);
      expect(await swap(given, asDetails({ type: statement, ...account }, payment))).toMatchObject(beyond);
      // a token that was narrowed before gives no more than itself
      const narrowed = await obtain(
        {
          ...asDetails({ type: statement, ...account }, { type: note, ...account }),
          scope: 'openid pay',
          resource: one,
        },
        client,
        asDetails({ type: note, ...account }),
      );
      expect(namesIn(await swap(narrowed))).toEqual([note]);
      expect(await swap(narrowed, asDetails({ type: statement, ...account }))).toMatchObject(beyond);
      // nor does a token of an exchange, when it is exchanged again
      const first = await swap(given, asDetails({ type: note, ...account }));
      expect(namesIn(await swap(first))).toEqual([note]);
    });

    test('have none for an ID Token, which has none itself, and an ID-JAG takes none (RFC 9396 7, security R145)', async () => {
      await letThrough(statement, note);
      const { body } = await presented();
      const idToken = { subject_token: String(body['id_token']), subject_token_type: tokenTypes.idToken };
      const swapped = await exchange(service.issuer, gateway, '', idToken);
      expect([swapped.status, detailsIn(swapped.body)]).toEqual([200, undefined]);
      expect(
        await exchange(service.issuer, gateway, '', { ...idToken, ...asDetails({ type: note, ...account }) }),
      ).toMatchObject(beyond);
      const jag = { ...idToken, requested_token_type: tokenTypes.idJag, audience: 'https://saas.example' };
      expect(
        await exchange(service.issuer, gateway, '', { ...jag, ...asDetails({ type: note, ...account }) }),
      ).toMatchObject(beyond);
    });
  });
});

test('a request without details reads no type at any address, and one with details reads them once at each step (protocols 5.6)', async () => {
  const plainClient = await createClient({ authorization_details_types: undefined });
  const flow = async (of: TestClient, parameters: Record<string, string>) => {
    const agent = await browser();
    const before = service.ofRequests.length;
    const { code } = await allow(agent, await ask(agent, { scope: 'openid offline_access', ...parameters }, of));
    const first = await redeem(service.issuer, of, code!);
    await refresh(service.issuer, of, String(first.body['refresh_token']));
    await seen(tokenOf(first), of);
    return service.ofRequests.slice(before);
  };
  const [without, withDetails] = [await flow(plainClient, {}), await flow(client, asDetails(payment))];
  const ofTypes = (names: string[]) => names.filter((name) => name.startsWith('authorization_details_types'));
  expect(ofTypes(without)).toEqual([]);
  // at the request, the page, the form and the answer
  expect(new Set(ofTypes(withDetails))).toEqual(new Set(['authorization_details_types.enabled']));
  // the token endpoint and the introspection need as many statements as without
  const others = (names: string[]) => names.filter((name) => !name.startsWith('authorization_details_types')).sort();
  expect(others(withDetails)).toEqual(others(without));
});

test('a device gets the details that its user allowed on the page (RFC 9396 2, RFC 8628 3.1)', async () => {
  const device = await service.createClient({ ...deviceMetadata, authorization_details_types: types });
  const codes = await deviceCodes(service.issuer, device, { scope: 'openid', ...asDetails(payment) });
  const agent = await browser();
  const page = await agent.get(codes.verification_uri_complete);
  expect(page.body).toContain('Merchant A');
  await agent.submit(page, { decision: 'allow' });
  const answer = await poll(service.issuer, device, codes);
  expect(detailsIn(answer.body)).toEqual([{ ...payment, id: expect.any(String) }]);
});

test('openid-client asks, refreshes and reads the details with its strict defaults (RFC 9396 5, 6, 7)', async () => {
  const config = await openid.discovery(new URL(service.issuer), client.clientId, client.clientSecret, undefined, {
    execute: [openid.allowInsecureRequests],
  });
  expect(config.serverMetadata()).toMatchObject({
    authorization_details_types_supported: expect.arrayContaining(types),
  });
  const { code_verifier, ...challenge } = pkce();
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: client.redirectUri,
    scope: 'openid offline_access',
    state: 's',
    authorization_details: JSON.stringify([payment]),
    ...challenge,
  });
  const agent = await browser();
  const page = await agent.follow(await agent.get(url.pathname + url.search));
  const done = await agent.follow(await agent.post('/consent', { ...hiddenFields(page.body), decision: 'allow' }));
  const tokens = await openid.authorizationCodeGrant(config, new URL(done.location!), {
    pkceCodeVerifier: code_verifier,
    expectedState: 's',
  });
  expect(tokens.authorization_details).toMatchObject([payment]);
  const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!);
  expect(renewed.authorization_details).toEqual(tokens.authorization_details);
});
