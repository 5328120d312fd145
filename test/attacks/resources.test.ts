// Attacks resources (RFC 8707): APIs of others, tokens for more than was granted.
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect } from 'vitest';
import {
  adminToken,
  approveClient,
  call,
  obtainCode,
  redeem,
  refresh,
  type Tokens,
  userinfo,
  withoutLimits,
} from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';
import { attack } from './attack.ts';

let service: TestService;
let token: string;
let server: TestClient;
let machine: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  token = await adminToken(service);
  server = await service.createClient();
  machine = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
  for (const resource of ['https://api.example/one', 'https://host.example'])
    await admin('/resources', { resource, name: 'One', client_id: server.clientId, clients: 'approved' });
  const jwt = { resource: jwtResource, access_token_format: 'jwt' };
  await admin('/resources', { ...jwt, name: 'JWT', client_id: server.clientId, clients: 'approved' });
});
afterAll(() => service?.stop());

const admin = (path: string, body: unknown) => call(`${service.issuer}/admin/api${path}`, { token, body });
const jwtResource = 'https://jwt.example';
/** The tokens of a code flow for the resource with JWTs. */
async function jwtTokens() {
  const [client, user, agent] = [await service.createClient(), await service.createUser(), new UserAgent(service)];
  const code = await obtainCode(service, client, user, { resource: jwtResource }, agent);
  const { body } = await redeem(service.issuer, client, code);
  return { client, user, agent, code, tokens: body as unknown as Tokens };
}
const credentials = (fields: Record<string, string>) =>
  tokenRequest(service.issuer, machine, { grant_type: 'client_credentials', ...fields });

attack(
  {
    id: 'P44',
    name: 'Resource widened later',
    request:
      'A code for one API redeemed for another, its refresh token used for another, two resources in one token request, and the code of a request without resource redeemed for an API',
    answer: 'invalid_target each time, and code and refresh token stay good for what was granted',
    source: 'RFC 8707 2.2, workers-oauth-provider#120',
    requirements: ['R139', 'R12'],
  },
  async () => {
    const [one, two] = ['https://api.example/one', 'https://host.example'];
    const client = await service.createClient();
    const user = await service.createUser();
    const refusal = { status: 400, body: { error: 'invalid_target' } };
    const code = await obtainCode(service, client, user, { resource: one });
    for (const resource of [two, service.issuer, `${service.issuer}/user/info`, `${one}/`, server.clientId])
      expect(await redeem(service.issuer, client, code, { resource }), resource).toMatchObject(refusal);
    expect(await redeem(service.issuer, client, code, { resource: `${one} ${two}` })).toMatchObject(refusal);
    const first = await redeem(service.issuer, client, code, { resource: one });
    expect(first.status).toBe(200);
    let token = String(first.body['refresh_token']);
    for (const resource of [two, service.issuer, `${one} ${two}`])
      expect(await refresh(service.issuer, client, token, { resource }), resource).toMatchObject(refusal);
    const second = await refresh(service.issuer, client, token, { resource: one });
    expect(second.status).toBe(200);
    token = String(second.body['access_token']);
    expect((await introspect(service.issuer, server, token)).body).toMatchObject({ aud: [one, server.clientId] });
    expect((await userinfo(service.issuer, token)).status).toBe(401);
    const plain = await obtainCode(service, client, user);
    expect(await redeem(service.issuer, client, plain, { resource: one })).toMatchObject(refusal);
    expect((await redeem(service.issuer, client, plain)).status).toBe(200);
  },
);

attack(
  {
    id: 'P45',
    name: 'Squatter',
    request: 'A registration that claims the URI of an existing API in other spellings; an administrator approves it',
    answer: 'the approval is refused, the conflict names the API, and tokens go on to its server only',
    source: 'RFC 3986 6.2, RFC 8707 3',
    requirements: ['R45', 'R139'],
  },
  async () => {
    const spellings = {
      'https://api.example/one': ['https://api.example/one', 'HTTPS://API.example:443/one'],
      'https://host.example': ['https://host.example', 'https://host.example/', 'https://HOST.example:443'],
    };
    for (const [resource, claims] of Object.entries(spellings)) {
      for (const uri of claims) {
        const claimant = await call(`${service.issuer}/register`, {
          body: { redirect_uris: ['https://rp.example/cb'], resource_uris: [uri] },
        });
        expect(claimant.status).toBe(201);
        const clientId = String(claimant.body['client_id']);
        const refused = await approveClient(service.issuer, token, clientId);
        expect(refused, uri).toMatchObject({ status: 409, body: { error: 'conflict' } });
        expect(refused.body['error_description']).toContain(`the client ${server.clientId} holds ${resource}`);
        expect((await service.store.clientReview.heldResources([{ clientId, uri }])).get(clientId)).toMatchObject([
          { uri, clientId: server.clientId },
        ]);
        const { body } = await credentials({ resource: uri });
        const seen = await introspect(service.issuer, server, String(body['access_token']));
        expect(seen.body).toMatchObject({ active: true, aud: [resource, server.clientId] });
      }
    }
  },
);

attack(
  {
    id: 'P46',
    name: 'One JWT for another',
    request:
      'A JWT access token as id_token_hint at /authorize and /logout, as client assertion and as Bearer token of ours; an ID Token as Bearer token; a JWT access token with another type or audience in its header and payload',
    answer: 'every place refuses it, and nothing is introspected as active',
    source: 'RFC 9068 5, RFC 8725 3.11',
    requirements: ['R138'],
  },
  async () => {
    const { tokens, client, agent } = await jwtTokens();
    const { access_token: jwt, id_token: idToken } = tokens;
    const hinted = await agent.authorize(client, undefined, { id_token_hint: jwt, prompt: 'none' });
    expect(responseParameters(hinted)).toMatchObject({ error: 'invalid_request' });
    const logout = await agent.get(`/logout?${new URLSearchParams({ id_token_hint: jwt })}`);
    expect(logout.status).not.toBe(302);
    expect((await userinfo(service.issuer, jwt)).status).toBe(401);
    expect((await userinfo(service.issuer, idToken)).status).toBe(401);
    const assertion = await fetch(`${service.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: machine.clientId,
        client_assertion: jwt,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      }),
    });
    expect(assertion.status).toBe(401);
    const [head, body, signature] = jwt.split('.') as [string, string, string];
    const changed = (part: string, change: object) =>
      Buffer.from(
        JSON.stringify({ ...(JSON.parse(Buffer.from(part, 'base64url').toString()) as object), ...change }),
      ).toString('base64url');
    for (const forged of [
      `${changed(head, { typ: 'JWT' })}.${body}.${signature}`,
      `${head}.${changed(body, { aud: service.issuer })}.${signature}`,
      `${changed(head, { alg: 'none' })}.${body}.`,
    ])
      expect((await introspect(service.issuer, server, forged)).body).not.toMatchObject({ active: true });
  },
);

attack(
  {
    id: 'P47',
    name: 'Revoked and still signed',
    request: 'A JWT access token after it was revoked, after its user was disabled, and after its code was replayed',
    answer: 'introspection on every instance says inactive at once, and our own addresses go on to refuse it',
    source: 'RFC 7009 2',
    requirements: ['R77'],
  },
  async () => {
    const inactive = async (jwt: string) => {
      for (const base of service.instances)
        expect((await introspect(base, server, jwt)).body).toEqual({ active: false });
      expect((await userinfo(service.issuer, jwt)).status).toBe(401);
    };
    const revoked = await jwtTokens();
    await fetch(`${service.issuer}/revoke`, {
      method: 'POST',
      headers: { authorization: revoked.client.basic },
      body: new URLSearchParams({ token: revoked.tokens.access_token }),
    });
    await inactive(revoked.tokens.access_token);
    const disabled = await jwtTokens();
    expect((await introspect(service.issuer, server, disabled.tokens.access_token)).body).toMatchObject({
      active: true,
    });
    await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [disabled.user.sub]);
    await inactive(disabled.tokens.access_token);
    const replayed = await jwtTokens();
    await service.database.sql(
      `UPDATE authorization_codes SET redeemed_at = redeemed_at - interval '1 minute' WHERE redeemed_at IS NOT NULL`,
    );
    await redeem(service.issuer, replayed.client, replayed.code);
    await inactive(replayed.tokens.access_token);
  },
);

attack(
  {
    id: 'P48',
    name: 'Pairwise unmasked',
    request: 'Two clients with pairwise subjects ask for tokens for one JWT resource, and compare what each can read',
    answer: 'both get opaque tokens without a common value, and introspection tells the resource one subject',
    source: 'RFC 9068 6',
    requirements: ['R139'],
  },
  async () => {
    const user = await service.createUser();
    const seen: Record<string, unknown>[] = [];
    const subs: string[] = [];
    for (const host of ['first.example', 'second.example']) {
      const redirect_uris = [`https://${host}/cb`];
      const client = await service.createClient({ redirect_uris, subject_type: 'pairwise' });
      const code = await obtainCode(service, client, user, { resource: jwtResource });
      const { body } = await redeem(service.issuer, client, code);
      expect(String(body['access_token'])).toMatch(/^ghat_/);
      subs.push(String(decodeJwt(String(body['id_token'])).sub));
      seen.push((await introspect(service.issuer, server, String(body['access_token']))).body);
    }
    expect(subs[0]).not.toBe(subs[1]);
    expect(seen.map(({ sub }) => sub)).toEqual([user.sub, user.sub]);
  },
);

attack(
  {
    id: 'P49',
    name: 'Client dressed as a person',
    request:
      'A client whose id equals the subject of a user asks for a JWT of its own, and takes a token of its own to the addresses of users',
    answer:
      'No such user can be stored; beside one from before, it gets no JWT with that subject, and the addresses of users refuse it',
    source: 'RFC 9068 5',
    requirements: ['R139'],
  },
  async () => {
    const ask = () =>
      tokenRequest(service.issuer, machine, { grant_type: 'client_credentials', resource: jwtResource });
    expect(String((await ask()).body['access_token']).split('.')).toHaveLength(3);
    const { sql } = service.database;
    const insert = `INSERT INTO users (sub, username) VALUES ($1, 'dressed')`;
    await expect(sql(insert, [machine.clientId])).rejects.toThrow('already in use');
    // a pair from before this rule
    await sql('ALTER TABLE users DISABLE TRIGGER users_keys');
    await sql(insert, [machine.clientId]);
    await sql('ALTER TABLE users ENABLE TRIGGER users_keys');
    expect(String((await ask()).body['access_token'])).toMatch(/^ghat_/);
    const { body } = await credentials({});
    for (const path of ['/user/info', '/user/me/scope', `/user/${machine.clientId}/info`]) {
      const { status } = await call(service.issuer + path, { token: String(body['access_token']) });
      expect(status, path).toBeGreaterThanOrEqual(401);
    }
  },
);
