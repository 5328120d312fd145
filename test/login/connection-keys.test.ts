// Tests private_key_jwt of connections: each has a key of its own, which it publishes, and whose private half is nowhere in clear.
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createSecretBox } from '../../src/crypto/secret-box.ts';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { runCommand } from '../helpers/command-line.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { connectionTo, createAdministrator, signInBy } from '../helpers/preset-connections.ts';
import { type PresetProvider, startPresetProvider } from '../helpers/preset-provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let openid: PresetProvider;
let plain: PresetProvider;
let administrator: Awaited<ReturnType<typeof createAdministrator>>;

beforeAll(async () => {
  // Google's shape is that of any OpenID Provider
  [openid, plain] = [await startPresetProvider('google'), await startPresetProvider('service')];
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: `${openid.host},${plain.host}`,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  administrator = await createAdministrator(service);
});
afterAll(async () => {
  await service?.stop();
  await openid?.stop();
  await plain?.stop();
});
beforeEach(() => {
  openid.reset();
  plain.reset();
});

const method = { token_endpoint_auth_method: 'private_key_jwt' };
const create = async (id: string, settings: object = {}) => {
  const body = {
    id,
    kind: 'oidc',
    display_name: id,
    status: 'enabled',
    provisioning: 'on',
    settings: { issuer: openid.origin, client_id: 'keyed', userinfo: false, ...method, ...settings },
  };
  const made = await administrator.create(body);
  expect(made.body).toMatchObject({ id, key: { since: expect.any(String) }, secret: { set: false } });
};
const published = (id: string) => fetch(`${service.issuer}/connections/${id}/jwks`);
/** Verifies assertions as the other side does: by the published key. */
const verify = (id: string, audience: string, seen: string[]) => async (form: Record<string, string>) => {
  const { keys } = (await (await published(id)).json()) as { keys: never[] };
  const { payload } = await jwtVerify(form['client_assertion']!, createLocalJWKSet({ keys }), {
    issuer: 'keyed',
    subject: 'keyed',
    audience,
    algorithms: ['ES256'],
    requiredClaims: ['jti', 'exp', 'iat'],
  });
  expect(form).toMatchObject({
    client_id: 'keyed',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  });
  expect(form).not.toHaveProperty('client_secret');
  expect(payload.exp! - payload.iat!).toBe(60);
  // one audience only, and one use
  expect(typeof payload.aud).toBe('string');
  expect(seen).not.toContain(payload.jti);
  seen.push(payload.jti!);
  return true;
};

describe('a connection with private_key_jwt', () => {
  test('needs no secret, and authenticates by the key that it publishes (federation 5)', async () => {
    await create('keyed');
    const seen: string[] = [];
    openid.state.isClient = verify('keyed', openid.origin, seen);
    for (const sub of ['one', 'two']) {
      openid.state.claims = { sub, preferred_username: `keyed ${sub}`, email: undefined };
      expect((await signInBy(new UserAgent(service), 'keyed')).url).toBe(`${service.issuer}/account`);
    }
    expect(seen).toHaveLength(2);
    expect(openid.last('/token')!.authorization).toBeUndefined();
  });

  test('names the token endpoint as audience if the settings say so, and always by OAuth 2.0 (federation 5)', async () => {
    await create('endpoint', { client_assertion_audience: 'token_endpoint' });
    openid.state.isClient = verify('endpoint', `${openid.origin}/token`, []);
    openid.state.claims = { sub: 'endpoint', preferred_username: 'endpoint', email: undefined };
    expect((await signInBy(new UserAgent(service), 'endpoint')).url).toBe(`${service.issuer}/account`);
    const { settings, ...body } = connectionTo('service', plain);
    await administrator.create({
      ...body,
      secret: null,
      settings: { ...(settings as object), ...method, client_id: 'keyed' },
    });
    plain.state.isClient = verify('service', `${plain.origin}/token`, []);
    plain.state.answers['/me'] = { body: { sub: 'x', preferred_username: 'by oauth' } };
    expect((await signInBy(new UserAgent(service), 'service')).url).toBe(`${service.issuer}/account`);
  });

  test('publishes the public half only, and shares its key with no other connection (federation 5, FR17)', async () => {
    await create('own-1');
    await create('own-2');
    const sets = await Promise.all(
      ['own-1', 'own-2'].map(async (id) => (await (await published(id)).json()) as { keys: Record<string, unknown>[] }),
    );
    for (const { keys } of sets) {
      expect(keys).toHaveLength(1);
      expect(Object.keys(keys[0]!).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    }
    expect(sets[0]!.keys[0]!['x']).not.toBe(sets[1]!.keys[0]!['x']);
    expect(sets[0]!.keys[0]!['kid']).not.toBe(sets[1]!.keys[0]!['kid']);
    // it is none of the keys of the service
    const own = (await (await fetch(`${service.issuer}/jwks`)).json()) as { keys: { kid: string }[] };
    expect(own.keys.map(({ kid }) => kid)).not.toContain(sets[0]!.keys[0]!['kid']);
  });

  test('keeps its key at a change, and gets another one when an administrator renews it (federation 5)', async () => {
    await create('renewed');
    const kid = async () => ((await (await published('renewed')).json()) as { keys: { kid: string }[] }).keys[0]!.kid;
    const first = await kid();
    await administrator.change('renewed', { display_name: 'Renewed', settings: { scope: 'openid' } });
    expect(await kid()).toBe(first);
    expect((await administrator.change('renewed', { renew_key: true })).status).toBe(200);
    expect(await kid()).not.toBe(first);
    const [event] = await service.database.sql<{ detail: object }>(
      `SELECT detail FROM audit_events WHERE type = 'connection.changed' ORDER BY id DESC LIMIT 1`,
    );
    expect(event!.detail).toMatchObject({ connection: 'renewed', members: ['key'] });
    openid.state.claims = { sub: 'renewed', preferred_username: 'renewed', email: undefined };
    let used: string | undefined;
    openid.state.isClient = (form) => {
      used = decodeProtectedHeader(form['client_assertion']!).kid;
      return true;
    };
    await signInBy(new UserAgent(service), 'renewed');
    expect(used).toBe(await kid());
  });

  test('that got its key by a change of the method no longer needs a secret, and keeps the key (federation 5)', async () => {
    const settings = { issuer: openid.origin, client_id: 'keyed' };
    const body = { id: 'later', kind: 'oidc', display_name: 'Later', settings, secret: 'a secret', status: 'enabled' };
    expect((await administrator.create(body)).body).not.toHaveProperty('key');
    expect((await published('later')).status).toBe(404);
    expect((await administrator.change('later', { settings: method, secret: null })).status).toBe(200);
    expect((await published('later')).status).toBe(200);
  });
});

test.each(['none', 'Not an id', 'a%00b'])('there is no key at /connections/%s/jwks (federation 5)', async (id) => {
  const answer = await published(id);
  expect([400, 404]).toContain(answer.status);
  expect(answer.headers.get('content-type')).toContain('application/json');
});

test('the private key is sealed, is re-encrypted with the other secrets, and is in no answer, event or log (federation FR17, F31)', async () => {
  await create('sealed');
  const [row] = await service.database.sql<{ key_encrypted: Buffer; row: string }>(
    `SELECT key_encrypted, c::text AS row FROM connections c WHERE id = 'sealed'`,
  );
  expect(row!.row).not.toContain('"d"');
  expect(row!.key_encrypted.length).toBeGreaterThan(100);
  expect(service.store.sealedValues.names).toContain('connections.key_encrypted');
  const shown = JSON.stringify((await administrator.show('sealed')).body);
  for (const text of [
    shown,
    JSON.stringify(await service.database.sql('SELECT * FROM audit_events')),
    JSON.stringify(service.logs),
  ])
    expect(text).not.toMatch(/"d\\*":/);
});

test('secret-key reencrypt moves the private key to the new key of SECRET_KEY (decisions section 8, security R29)', async () => {
  await create('moved');
  // as after a restart of all instances
  await service.database.sql('DELETE FROM instances');
  const newKey = randomSecret();
  const environment = { SECRET_KEY: `${newKey},${service.secretKey}` };
  const done = await runCommand(service, ['secret-key', 'reencrypt'], { environment });
  expect(done, done.stderr).toMatchObject({ code: 0 });
  const [row] = await service.database.sql<{ sealed: Buffer }>(
    `SELECT key_encrypted AS sealed FROM connections WHERE id = 'moved'`,
  );
  const box = createSecretBox([parseSecretKey(newKey)]);
  const opened = box.open(row!.sealed, 'connections.key_encrypted.moved').toString();
  expect(JSON.parse(opened)).toMatchObject({ kty: 'EC', crv: 'P-256', d: expect.any(String) });
  // copied to another row, it does not open
  expect(() => box.open(row!.sealed, 'connections.key_encrypted.keyed')).toThrow();
});
