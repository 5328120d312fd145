// An address with a private-use scheme without a dot, such as cursor://, waits for an administrator, and the rest of its registration does not.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { startDocumentServer } from '../helpers/document-server.ts';
import { adminToken, type Answer, approveClient, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, pkce, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let admin: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  admin = await adminToken(service);
});
afterAll(() => service?.stop());

const editor = 'cursor://vendor.editor-mcp/oauth/callback';
const good = ['https://www.editor.example/agents/mcp/oauth/callback', 'http://localhost:8787/callback'];
const metadata = {
  client_name: 'Editor',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  redirect_uris: [editor, ...good],
};
const register = (change: Record<string, unknown> = {}, at = service, token?: string) =>
  call(`${at.issuer}/register`, { body: { ...metadata, ...change }, ...(token !== undefined && { token }) });
const manage = ({ body }: Answer, method: string, sent?: unknown) =>
  call(body['registration_client_uri'] as string, {
    method,
    token: body['registration_access_token'] as string,
    ...(sent !== undefined && { body: sent }),
  });
const idOf = ({ body }: Answer) => body['client_id'] as string;
const shown = (clientId: string) => call(`${service.issuer}/admin/api/clients/${clientId}`, { token: admin });
const approve = (clientId: string) => approveClient(service.issuer, admin, clientId);

/** The parameters of the response to a user who is signed in. */
async function answerAt(clientId: string, redirectUri: string, parameters: Record<string, string> = {}) {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.signIn(user);
  await service.database.sql('UPDATE clients SET first_party = true WHERE client_id = $1', [clientId]);
  const { code_challenge, code_challenge_method } = pkce();
  const challenge = { code_challenge, code_challenge_method };
  return agent.get(authorizationUrl(service.issuer, { clientId, redirectUri }, { ...challenge, ...parameters }));
}

describe('a registration with such an address', () => {
  test('gets the good addresses, as a native client, and the other waits for an administrator, who admits it (RFC 7591 3.2.1, RFC 8252 8.4, reports A5)', async () => {
    const registered = await register();
    expect(registered).toMatchObject({ status: 201, body: { redirect_uris: good, application_type: 'native' } });
    const id = idOf(registered);
    expect((await approve(id)).body).toMatchObject({
      status: 'enabled',
      redirect_uris: good,
      pending_changes: { redirect_uris: [editor, ...good] },
    });
    expect(responseParameters(await answerAt(id, 'http://localhost:1234/callback'))).toHaveProperty('code');
    expect((await answerAt(id, editor)).location).toContain('problem=client');
    expect((await approve(id)).body).toMatchObject({ redirect_uris: [editor, ...good] });
    expect((await shown(id)).body['pending_changes']).toBeUndefined();
    await expect
      .poll(async () => (await answerAt(id, editor)).location)
      .toMatch(/^cursor:\/\/vendor\.editor-mcp\/oauth\/callback\?code=/);
    expect(
      responseParameters(await answerAt(id, editor, { code_challenge: '', code_challenge_method: '' }))['error'],
    ).toBe('invalid_request');
    // an exact match, whatever the port of loopback addresses
    expect((await answerAt(id, `${editor}/x`)).location).toContain('problem=client');
  });

  test.each(['vscode://ms.example/cb', 'my-editor+x://callback', 'zed:/oauth', 'urn:example:cb'])(
    'of %s alone waits with none, and an administrator admits it (reports A5)',
    async (uri) => {
      const registered = await register({ redirect_uris: [uri], application_type: 'native' });
      expect(registered).toMatchObject({ status: 201, body: { redirect_uris: [], status: 'disabled' } });
      await approve(idOf(registered));
      expect((await approve(idOf(registered))).body).toMatchObject({ redirect_uris: [uri] });
    },
  );

  test('keeps what waits in a PUT of the answer, of the good addresses and of a change, and when it is repeated (RFC 7592 2.2, reports A5)', async () => {
    const registered = await register();
    const id = idOf(registered);
    const waiting = async () =>
      ((await shown(id)).body['pending_changes'] as Record<string, unknown>)?.['redirect_uris'];
    const read = (await manage(registered, 'GET')).body;
    expect(await manage(registered, 'PUT', read)).toMatchObject({ status: 200, body: { redirect_uris: good } });
    expect(await waiting()).toEqual(expect.arrayContaining([editor, ...good]));
    for (const change of [{ redirect_uris: good }, { redirect_uris: [good[0]], client_name: 'Editor 2' }]) {
      const updated = await manage(registered, 'PUT', { client_id: id, ...metadata, ...change });
      expect(updated).toMatchObject({ status: 200, body: change });
      expect(await waiting()).toEqual(expect.arrayContaining([editor]));
    }
    // of an approved client too: a change that widens nothing is in effect at once
    await approve(id);
    expect(
      await manage(registered, 'PUT', {
        client_id: id,
        ...metadata,
        client_name: 'Editor 2',
        redirect_uris: [good[0]],
      }),
    ).toMatchObject({
      body: { redirect_uris: [good[0]] },
    });
    expect(await waiting()).toEqual(expect.arrayContaining([editor]));
    await approve(id);
    // what an administrator admitted is one of the client's addresses
    const { body } = await manage(registered, 'GET');
    expect(body['redirect_uris']).toContain(editor);
    expect(await manage(registered, 'PUT', body)).toMatchObject({
      status: 200,
      body: { redirect_uris: body['redirect_uris'] },
    });
    expect(await waiting()).toBeUndefined();
  });

  test('that names application_type web, or an address of the browser, is refused with the address (RFC 7591 3.2.2, reports A5)', async () => {
    const web = await register({ application_type: 'web' });
    expect(web).toMatchObject({ status: 400, body: { error: 'invalid_redirect_uri' } });
    expect(web.body['error_description']).toContain(editor);
    for (const scheme of [
      'javascript',
      'data',
      'file',
      'blob',
      'vbscript',
      'about',
      'ws',
      'wss',
      'mailto',
      'tel',
      'sms',
      'intent',
      'view-source',
      'chrome-extension',
      'chrome',
      'moz-extension',
      'filesystem',
      'ftp',
      'http',
      'https',
    ])
      for (const uri of [
        `${scheme}:/cb`,
        `${scheme.toUpperCase()}:/cb`,
        ...(/^https?$/.test(scheme) ? [] : [`${scheme}://a.example/cb`]),
      ])
        for (const application_type of ['native', undefined]) {
          const answer = await register({ redirect_uris: [uri, ...good], application_type });
          expect(answer, uri).toMatchObject({ status: 400, body: { error: 'invalid_redirect_uri' } });
          expect(answer.body['error_description']).toContain(uri);
          const { status } = await call(`${service.issuer}/admin/api/clients`, {
            token: admin,
            body: { ...metadata, redirect_uris: [uri], application_type },
          });
          expect(status, uri).toBe(400);
        }
  });

  test('with an initial access token leaves the address out, and waits if there is no other (reports A5)', async () => {
    const issued = await call(`${service.issuer}/admin/api/registration-tokens`, {
      token: admin,
      method: 'POST',
      body: {},
    });
    const token = issued.body['initial_access_token'] as string;
    const enabled = await register({}, service, token);
    expect(enabled).toMatchObject({ status: 201, body: { status: 'enabled', redirect_uris: good } });
    expect((await shown(idOf(enabled))).body['pending_changes']).toBeUndefined();
    const waiting = await register({ redirect_uris: [editor] }, service, token);
    expect(waiting).toMatchObject({ status: 201, body: { status: 'disabled', redirect_uris: [] } });
    expect((await shown(idOf(waiting))).body).toMatchObject({ pending_changes: { redirect_uris: [editor] } });
  });

  test('with automatic approval leaves the address out, and is refused if there is no other (reports A5)', async () => {
    const automatic = await startTestService({ environment: { ...withoutLimits, REGISTRATION_APPROVAL: 'automatic' } });
    try {
      const enabled = await register({}, automatic);
      expect(enabled).toMatchObject({ status: 201, body: { status: 'enabled', redirect_uris: good } });
      expect(enabled.body).not.toHaveProperty('pending_changes');
      const refused = await register({ redirect_uris: [editor] }, automatic);
      expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_redirect_uri' } });
      expect(refused.body['error_description']).toContain(editor);
      const update = await manage(enabled, 'PUT', { client_id: idOf(enabled), ...metadata });
      expect(update).toMatchObject({ status: 200, body: { redirect_uris: good } });
      expect(update.body).not.toHaveProperty('pending_changes');
      expect(
        await manage(enabled, 'PUT', { client_id: idOf(enabled), ...metadata, redirect_uris: [editor] }),
      ).toMatchObject({
        status: 400,
        body: { error: 'invalid_redirect_uri' },
      });
    } finally {
      await automatic.stop();
    }
  });
});

test('the approval page shows an administrator what waits, and the page with the code does too (reports A5)', async () => {
  const registered = await register();
  const agent = new UserAgent(service);
  await agent.signIn(await service.createUser({ admin: true }));
  const page = await agent.get(`/admin/clients/${idOf(registered)}`).then((answer) => agent.follow(answer));
  expect(page.body).toContain(editor);
  expect(page.body).toContain('so they need a second approval');
  const deferred = await register({ registration_mode: ['approval'] });
  expect(deferred.status).toBe(202);
  const code = deferred.body['verification_code'] as string;
  expect((await agent.get(`/admin/registration?verification_code=${code}`)).body).toContain(editor);
});

test('an administrator creates a client with such an address by route and command; it is native, unless the administrator says otherwise (reports A5)', async () => {
  const made = await call(`${service.issuer}/admin/api/clients`, { token: admin, body: metadata });
  expect(made).toMatchObject({ status: 201, body: { application_type: 'native', redirect_uris: [editor, ...good] } });
  const changed = await call(`${service.issuer}/admin/api/clients/${idOf(made)}`, {
    method: 'PATCH',
    token: admin,
    body: { redirect_uris: ['zed://callback'] },
  });
  expect(changed).toMatchObject({ status: 200, body: { redirect_uris: ['zed://callback'] } });
  const command = ['client', 'create', '--name', 'Editor', '--auth-method', 'none', '--redirect-uri', editor, '--json'];
  const { code, stdout } = await runCommand(service, command, {});
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ application_type: 'native', redirect_uris: [editor] });
});

test('the document of a client keeps its good addresses, and an administrator admits the other (draft-ietf-oauth-client-id-metadata-document, reports A5)', async () => {
  const server = await startDocumentServer();
  const other = await startTestService({
    environment: {
      ...withoutLimits,
      LIMIT_METADATA_FETCHES: '0',
      CLIENT_ID_METADATA: 'approval',
      CLIENT_ID_METADATA_HOSTS: server.allow,
      OUTBOUND_ALLOW: server.allow,
    },
  });
  try {
    const clientId = server.serve('/editor.json', { redirect_uris: [editor, 'http://127.0.0.1/callback'] });
    const agent = new UserAgent(other);
    await agent.signIn(await other.createUser());
    const { code_challenge, code_challenge_method } = pkce();
    const challenge = { code_challenge, code_challenge_method };
    await agent.get(
      authorizationUrl(other.issuer, { clientId, redirectUri: 'http://127.0.0.1:5000/callback' }, challenge),
    );
    const token = await adminToken(other);
    const decide = () => approveClient(other.issuer, token, encodeURIComponent(clientId));
    expect((await decide()).body).toMatchObject({ status: 'enabled', redirect_uris: ['http://127.0.0.1/callback'] });
    expect((await decide()).body).toMatchObject({ redirect_uris: [editor, 'http://127.0.0.1/callback'] });
  } finally {
    await other.stop();
    await server.stop();
  }
});
