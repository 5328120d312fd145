// error_uri leads each client from an error of OAuth to the sentence of the page /errors, and is sent where RFC 6749 defines it only.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { errorCodes } from '../../src/oauth/errors.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ environment: { CIBA: 'on', DEVICE_GRANT: 'on' } });
  client = await service.createClient();
});
afterAll(() => service?.stop());

const explained = (code: string) => `${service.issuer}/errors#${code}`;

async function refused(path: string, form: Record<string, string>) {
  const answer = await fetch(service.issuer + path, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams(form),
  });
  expect(answer.status, path).toBe(400);
  return (await answer.json()) as Record<string, string>;
}

test('each endpoint whose errors RFC 6749 defines says where its error is explained (RFC 6749 5.2, decisions section 7)', async () => {
  const requests: [path: string, form: Record<string, string>][] = [
    ['/token', { grant_type: 'authorization_code', code: 'nonsense', redirect_uri: client.redirectUri }],
    ['/token', { grant_type: 'urn:example:teleport' }],
    ['/par', { response_type: 'nonsense' }],
    ['/revoke', {}],
    ['/device_authorization', { scope: 'openid' }],
    ['/bc-authorize', { scope: 'openid' }],
  ];
  for (const [path, form] of requests) {
    const { error, error_uri: uri } = await refused(path, form);
    expect(uri, path).toBe(explained(error!));
  }
  // the characters that RFC 6749 allows
  const { body } = await tokenRequest(service.issuer, { ...client, basic: 'Basic bm9ib2R5Og==' }, { grant_type: 'x' });
  expect(body).toMatchObject({ error: 'invalid_client', error_uri: explained('invalid_client') });
  expect(String((body as Record<string, string>)['error_uri'])).toMatch(/^[!#-[\]-~]+$/);
});

test.each(['query', 'fragment', 'form_post'])(
  'an authorization response with an error says so by %s (RFC 6749 4.1.2.1, decisions section 7)',
  async (mode) => {
    const url = authorizationUrl(service.issuer, client, { prompt: 'none', response_mode: mode });
    const page = await new UserAgent(service).get(url);
    const sent =
      mode === 'form_post'
        ? hiddenFields(page.body)
        : Object.fromEntries(new URLSearchParams(page.location!.split(mode === 'query' ? '?' : '#')[1]));
    expect(sent).toMatchObject({ error: 'login_required', error_uri: explained('login_required') });
  },
);

test('the page has an anchor and a sentence for each code of the service, in each language (decisions section 7, RFC 6749 5.2)', async () => {
  for (const language of ['en', 'ar']) {
    const page = await fetch(`${service.issuer}/errors`, { headers: { 'accept-language': language } });
    expect(page.status).toBe(200);
    const html = await page.text();
    for (const code of errorCodes) expect(html, code).toMatch(new RegExp(`<div id="${code}">.*<dd>.*\\w.*</dd>`));
    // the sentences are those of the reference, which is English
    expect(html).toContain('<dl class="facts" lang="en" dir="ltr">');
    expect(html).not.toContain('`');
  }
});

test('the interfaces that another text defines keep their errors as they are (RFC 7591 3.2.2, specification 7)', async () => {
  const answers = await Promise.all([
    fetch(`${service.issuer}/register`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    }),
    fetch(`${service.issuer}/user/info`, { headers: { authorization: 'Bearer nonsense' } }),
    fetch(`${service.issuer}/admin/api/users`, { headers: { authorization: 'Bearer nonsense' } }),
    fetch(`${service.issuer}/end-session`),
    fetch(`${service.issuer}/introspect`, { method: 'POST', headers: { authorization: client.basic } }),
  ]);
  for (const answer of answers) {
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(await answer.json()).not.toHaveProperty('error_uri');
  }
});
