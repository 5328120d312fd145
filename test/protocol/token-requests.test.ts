// POST /token parses forms only, refuses malformed requests for every grant type, and issues tokens for client credentials.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, adminToken, call, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  client = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
});
afterAll(() => service?.stop());

const grant = 'grant_type=client_credentials';
async function post(body: string, headers: Record<string, string> = {}, query = ''): Promise<Answer> {
  const response = await fetch(`${service.issuer}/token${query}`, {
    method: 'POST',
    body: Buffer.from(body),
    headers: { authorization: client.basic, 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

describe('the body', () => {
  test.each([
    ['application/json', '{"grant_type":"client_credentials"}'],
    ['application/json', '{"grant_type":{"$ne":1}}'],
    ['text/plain', grant],
    ['multipart/form-data; boundary=x', `--x\r\n\r\n${grant}\r\n--x--`],
    ['application/x-www-form-urlencoded\ta', grant],
    ['application/x-www-form-urlencodedx', grant],
  ])('as %s is refused with 415 (security A38, R106)', async (type, body) => {
    expect(await post(body, { 'content-type': type })).toMatchObject({
      status: 415,
      body: { error: 'invalid_request' },
    });
  });

  test('without a content type is refused with 415 (security A38)', async () => {
    const response = await fetch(`${service.issuer}/token`, {
      method: 'POST',
      body: new Uint8Array(Buffer.from(grant)),
      headers: { authorization: client.basic },
    });
    expect(response.status).toBe(415);
  });

  test.each([
    ['application/x-www-form-urlencoded;charset=UTF-8', grant],
    ['APPLICATION/X-WWW-FORM-URLENCODED', grant],
    ['application/x-www-form-urlencoded', `${grant}&unknown=1&empty=`],
  ])('as %s is parsed, and unknown parameters are ignored (RFC 6749 3.2)', async (type, body) => {
    expect(await post(body, { 'content-type': type })).toMatchObject({ status: 200 });
  });

  test.each([
    ['a repeated grant_type', `${grant}&${grant}`],
    ['a repeated scope', `${grant}&scope=a&scope=b`],
    ['an unknown parameter twice', `${grant}&x=1&x=2`],
    ['no grant_type', 'scope=x'],
    ['an empty grant_type', 'grant_type='],
    ['nothing', ''],
    ['a NUL', `${grant}&scope=%00`],
    ['a thousand parameters', `${grant}&${Array.from({ length: 1000 }, (_, i) => `p${i}=1`).join('&')}`],
  ])('with %s is invalid_request (RFC 6749 5.2, security R5)', async (_what, body) => {
    expect(await post(body)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_description: expect.any(String) },
    });
  });

  test('of more than 64 KiB is refused with 413 (security A121, R103)', async () => {
    expect(await post(`${grant}&x=${'y'.repeat(70_000)}`)).toMatchObject({ status: 413 });
  });

  test('with a reserved name as a parameter is parsed without harm (security A118)', async () => {
    expect(await post(`${grant}&__proto__=x&constructor=y`)).toMatchObject({ status: 200 });
  });
});

describe('the endpoint', () => {
  test('answers POST requests only (RFC 6749 3.2)', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'HEAD']) {
      const response = await fetch(`${service.issuer}/token?${grant}`, {
        method,
        headers: { authorization: client.basic },
      });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toContain('POST');
      await response.arrayBuffer();
    }
  });

  test('reads no parameter of the query, and logs none (security A39)', async () => {
    const query = `?${grant}&client_secret=${client.clientSecret}&code=canary-code`;
    expect(await post('', {}, query)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(JSON.stringify(service.logs)).not.toContain('canary-code');
    expect(JSON.stringify(service.logs)).not.toContain(client.clientSecret);
  });

  test("may be called by scripts of any origin, without the browser's credentials (security R97)", async () => {
    const origin = 'https://app.example';
    const preflight = await fetch(`${service.issuer}/token`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(/authorization/i);
    for (const answer of [await post(grant, { origin }), await post('grant_type=x', { origin })]) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
    }
  });

  test.each([
    ['an unknown grant type', 'password', 'unsupported_grant_type'],
    ['implicit', 'implicit', 'unsupported_grant_type'],
    ['an unregistered grant type', 'authorization_code', 'unauthorized_client'],
    ['the name of a property of every object', 'constructor', 'unsupported_grant_type'],
  ])('refuses %s with its error (RFC 6749 5.2)', async (_what, grantType, error) => {
    const answer = await post(`grant_type=${grantType}`);
    expect(answer).toMatchObject({ status: 400, body: { error } });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('pragma')).toBe('no-cache');
  });

  test('authenticates the client before it checks the grant type (RFC 6749 3.2.1)', async () => {
    const answer = await post('grant_type=password', { authorization: 'Basic bm86eA==' });
    expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  });
});

describe('client_credentials', () => {
  test('yields only an access token, in a response that must not be stored (RFC 6749 4.4.3)', async () => {
    const answer = await post(grant);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^ghat_[\w-]{57}$/),
      token_type: 'Bearer',
      expires_in: 600,
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('yields a token that UserInfo and the admin API refuse (RFC 6750 3.1)', async () => {
    const { body } = await post(grant);
    const answer = await userinfo(service.issuer, body['access_token'] as string);
    expect(answer).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } });
    expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
    const users = await call(`${service.issuer}/admin/api/users`, { token: body['access_token'] as string });
    expect(users).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } });
  });

  test.each(['openid', 'profile', 'offline_access', 'admin', 'x y'])(
    'refuses the scope %s, which requires a user or was not granted (RFC 6749 5.2)',
    async (scope) => {
      expect(await post(`${grant}&scope=${encodeURIComponent(scope)}`)).toMatchObject({
        status: 400,
        body: { error: 'invalid_scope' },
      });
    },
  );

  test('yields the scope admin for a client to which an administrator granted it (decisions section 8)', async () => {
    const token = await adminToken(service);
    expect(await call(`${service.issuer}/admin/api/users`, { token })).toMatchObject({ status: 200 });
    const other = await service.createClient({
      grant_types: ['client_credentials'],
      redirect_uris: [],
      scope: 'admin',
    });
    const answer = await tokenRequest(service.issuer, other, { grant_type: 'client_credentials', scope: 'admin' });
    expect(answer).toMatchObject({ status: 200, body: { scope: 'admin' } });
  });

  test('yields a token that expires after its lifetime (decisions section 4)', async () => {
    const token = await adminToken(service);
    await service.database.sql(`UPDATE access_tokens SET expires_at = now() - interval '1 millisecond'`);
    expect(await call(`${service.issuer}/admin/api/users`, { token })).toMatchObject({
      status: 401,
      body: { error: 'invalid_token' },
    });
  });
});
