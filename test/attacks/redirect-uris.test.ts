// Attacks redirect URIs: lookalikes in a request, and dangerous values written into a registration later.
import { beforeAll, expect } from 'vitest';
import { adminToken, type Answer, call, redeem } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import { authorizationUrl, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import type { TestUser } from '../helpers/service.ts';
import { form, second, useService } from '../spec/kit.ts';
import { attack } from './attack.ts';

const service = useService();
let alice: TestUser;
let agent: UserAgent;
beforeAll(async () => {
  alice = await service().createUser();
  agent = new UserAgent(service());
  await agent.signIn(alice);
});

/** The stored registration of a client: the values in force and the pending ones. */
async function stored({ clientId }: TestClient): Promise<unknown> {
  const columns = 'metadata, pending_metadata, status, version, epoch';
  return (await service().database.sql(`SELECT ${columns} FROM clients WHERE client_id = $1`, [clientId]))[0];
}

attack(
  {
    id: 'A42',
    name: 'Loopback lookalikes',
    request:
      'For http://127.0.0.1/cb of a native application: another port, then localhost, other hosts that look alike, other spellings of the address, another path, query or scheme, user information; and another port for a web application',
    answer:
      'Only the other port of the native application works; every other request stays on a page of the service, and pushing it is 400',
    source: 'RFC 8252 7.3, CVE-2020-15233, CVE-2024-8883',
    requirements: ['R23'],
  },
  async () => {
    const native = await service().createClient({
      application_type: 'native',
      redirect_uris: ['http://127.0.0.1/cb', 'http://[::1]/cb?x=1'],
    });
    const web = await service().createClient({ redirect_uris: ['http://127.0.0.1:8081/cb'] });
    const named = await service().createClient({
      application_type: 'native',
      redirect_uris: ['http://localhost/cb'],
    });
    const lookalikes = [
      'http://localhost:51004/cb',
      'http://127.0.0.1.evil.example/cb',
      'http://127.0.0.1:51004.evil.example/cb',
      'http://127.1/cb',
      'http://127.0.0.1./cb',
      'http://127.0.0.2/cb',
      'http://0x7f000001/cb',
      'http://2130706433/cb',
      'http://0177.0.0.1/cb',
      'http://[::ffff:127.0.0.1]/cb',
      'http://[0:0:0:0:0:0:0:1]/cb?x=1',
      'http://[::1%25lo]/cb?x=1',
      'http://[::1]/cb',
      'http://127.0.0.1:51004/cb2',
      'http://127.0.0.1:51004/cb/',
      'http://127.0.0.1:51004/CB',
      'http://127.0.0.1:51004/cb?x=1',
      'http://127.0.0.1:51004/cb#x',
      'http://127.0.0.1:51004/x/../cb',
      'http://127.0.0.1:51004//cb',
      'https://127.0.0.1:1/cb',
      'HTTP://127.0.0.1:1/cb',
      'HTTP://127.0.0.1/cb',
      'http://127.0.0.1/CB',
      'http://127.0.0.1/cb?',
      'http:\\\\127.0.0.1:1/cb',
      'http://127.0.0.1:1@evil.example/cb',
      'http://evil.example:1@127.0.0.1/cb',
      'http://127.0.0.1:51004\\@evil.example/cb',
      'http://127.0.0.1:65536/cb',
      'http://127.0.0.1:-1/cb',
      'http://127.0.0.1:1e3/cb',
      'http://127.0.0.1:/cb',
      ' http://127.0.0.1:51004/cb',
      'http://127.0.0.1:51004/cb\n',
    ];
    const refused: [TestClient, string][] = [
      ...lookalikes.map((uri): [TestClient, string] => [native, uri]),
      [web, 'http://127.0.0.1:8082/cb'],
      [web, 'http://127.0.0.1/cb'],
      [web, 'http://localhost:8081/cb'],
      [named, 'http://127.0.0.1:51004/cb'],
      [named, 'http://localhost.:51004/cb'],
      [named, 'http://localhost.evil.example:51004/cb'],
      [named, 'http://localhost:51004@evil.example/cb'],
    ];
    for (const [client, redirectUri] of refused) {
      for (const parameters of [{}, { prompt: 'none' }, { response_mode: 'form_post' }] as Record<string, string>[]) {
        const asked = { clientId: client.clientId, redirectUri };
        const page = await agent.follow(await agent.get(authorizationUrl(service().issuer, asked, parameters)));
        expect([page.status, page.location], redirectUri).toEqual([400, undefined]);
        expect(page.body).not.toContain('evil.example');
      }
      const pushed = { response_type: 'code', scope: 'openid', redirect_uri: redirectUri };
      const answer = await form(`${second(service())}/par`, pushed, { authorization: client.basic });
      expect([answer.status, answer.body['request_uri']], redirectUri).toEqual([400, undefined]);
    }
    for (const redirectUri of ['http://127.0.0.1:51004/cb', 'http://127.0.0.1/cb', 'http://[::1]:7/cb?x=1']) {
      const page = await agent.authorize({ clientId: native.clientId, redirectUri }, alice);
      expect(page.location).toMatch(`${redirectUri}${redirectUri.includes('?') ? '&' : '?'}code=`);
      const { code } = responseParameters(page);
      const elsewhere = redirectUri.replace(/(:\d+)?\/cb/, ':51005/cb');
      expect(await redeem(service().issuer, native, code!, { redirect_uri: elsewhere })).toMatchObject({ status: 400 });
      expect(await redeem(service().issuer, native, code!, { redirect_uri: redirectUri })).toMatchObject({
        status: 200,
      });
    }
  },
);

/** Values that are dangerous wherever a URL is accepted. */
const dangerous = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\tscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'blob:https://rp.example.com/x',
  'vbscript:x',
  'file:///etc/passwd',
  'http://rp.example.com/callback',
  'https://user@rp.example.com/callback',
  'https://rp@evil.example/callback',
  'https://:x@evil.example/callback',
  'https://rp.example.com/callback#',
  'https://rp.example.com/callback#x',
  'https://rp.example.com/*',
  'https://*.example.com/callback',
  'https:/evil.example',
  'https:\\\\evil.example',
  'https://rp.example.com\\@evil.example/',
  'https://rp.example.com./callback',
  'https://rp.example.com/callback%00',
  'https://rp.example.com/call back',
  'https://rp.example.com/callback\r\nLocation: https://evil.example',
  'https://RP.example.com/callback',
  'https://rp.example.com/a/../callback',
  `https://rp.example.com/${'x'.repeat(2000)}`,
  '//evil.example/callback',
  '',
];
const lists = ['redirect_uris', 'post_logout_redirect_uris', 'request_uris'];
const single = [
  'client_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'jwks_uri',
  'sector_identifier_uri',
  'initiate_login_uri',
];
const logoutUris = ['frontchannel_logout_uri', 'backchannel_logout_uri'];

attack(
  {
    id: 'A44',
    name: 'The same values by update',
    request:
      'A clean registration, then each dangerous value in each member that holds an address, by update, repeat registration and admin route; and another application_type that would change the rules for the stored addresses',
    answer:
      '400, and the stored registration stays as it was; a valid change of application_type waits for an administrator, and the old rules stay in force',
    source: 'CVE-2026-15572',
    requirements: ['R25', 'R45'],
  },
  async () => {
    const clean = { redirect_uris: ['https://rp.example.com/callback'], scope: 'openid' };
    const client = await service().createClient(clean);
    const token = await adminToken(service());
    const own = `${service().issuer}/register/${client.clientId}`;
    const put = (of: TestClient, body: Record<string, unknown>, base = service().issuer) =>
      call(`${base}/register/${of.clientId}`, {
        method: 'PUT',
        token: of.registrationAccessToken,
        body: { client_id: of.clientId, ...body },
      });
    const writes: ((body: Record<string, unknown>) => Promise<Answer>)[] = [
      (body) => put(client, { ...clean, ...body }),
      (body) =>
        call(`${service().issuer}/register`, {
          method: 'POST',
          token: client.registrationAccessToken,
          body: { ...clean, ...body },
        }),
      (body) => call(`${second(service())}/admin/api/clients/${client.clientId}`, { method: 'PATCH', token, body }),
    ];
    const before = await stored(client);
    const members = lists.length + single.length + logoutUris.length;
    const bodies = dangerous.flatMap((uri) => [
      // the second element of a list, so that a check of the first alone does not pass
      ...lists.map((name) => ({ [name]: ['https://rp.example.com/callback', uri] })),
      ...[...single, ...logoutUris].map((name) => ({ [name]: uri })),
    ]);
    bodies.push({ redirect_uris: Array.from({ length: 21 }, (_, n) => `https://rp.example.com/${n}`) });
    for (const [index, body] of bodies.entries()) {
      const name = Object.keys(body)[0]!;
      // the address of a request object may end in a fragment (OpenID Connect Core 6.2)
      if (name === 'request_uris' && /#/.test(JSON.stringify(body))) continue;
      // each member by each way to write it, in turn
      const answer = await writes[(index + Math.floor(index / members)) % writes.length]!(body);
      expect(answer.status, `${name} ${JSON.stringify(body).slice(0, 200)}`).toBe(400);
      expect(answer.body['error']).toBe(name === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata');
    }
    expect(await stored(client)).toEqual(before);
    expect((await call(own, { token: client.registrationAccessToken })).body['redirect_uris']).toEqual(
      clean.redirect_uris,
    );

    // the addresses of a native application under the rules for the web
    for (const uri of ['com.example.app:/cb']) {
      const native = await service().createClient({ redirect_uris: [uri], application_type: 'native' });
      const was = await stored(native);
      for (const application_type of ['web', 'desktop', ''])
        expect((await put(native, { redirect_uris: [uri], application_type })).status).toBe(400);
      expect((await put(native, { redirect_uris: [uri] })).status).toBe(400);
      expect(await stored(native)).toEqual(was);
    }
    // a loopback address of a web application, which would match at any port for a native one
    const web = await service().createClient({ redirect_uris: ['http://127.0.0.1:8081/cb'] });
    const { body } = await put(web, { redirect_uris: ['http://127.0.0.1:8081/cb'], application_type: 'native' });
    expect(body['application_type']).toBe('web');
    expect(body['pending_changes']).toMatchObject({ application_type: 'native' });
    for (const base of service().instances) {
      const elsewhere = { clientId: web.clientId, redirectUri: 'http://127.0.0.1:9/cb' };
      expect((await agent.get(authorizationUrl(base, elsewhere))).location).toBe(`${base}/login?problem=client`);
    }
  },
);
