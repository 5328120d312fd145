// The console's client pages list, show, create, change and decide on clients, for administrators who signed in recently.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { filledForm, formOf, openConsole } from '../helpers/console.ts';
import { runCommand } from '../helpers/command-line.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let ada: Awaited<ReturnType<TestService['createUser']>>;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits, basePath: '/idp' });
  ada = await service.createUser({ username: 'ada', admin: true });
  ({ agent } = await openConsole(service, ada));
});
afterAll(() => service?.stop());

const at = (path: string) => agent.get(`/admin/clients${path}`);
const setSignInAge = (minutes: number) =>
  service.database.sql('UPDATE sessions SET auth_time = now() - make_interval(mins => $1)', [minutes]);
const title = ({ body }: Page) => /<h1>(.*?)<\/h1>/s.exec(body)?.[1]?.replace(/<[^>]*>/g, '');
const stored = (clientId: string) => service.store.clients.find(clientId);
const events = (clientId: string) =>
  service.database.sql<{ type: string; actor: string }>(
    'SELECT type, actor FROM audit_events WHERE client_id = $1 ORDER BY id DESC',
    [clientId],
  );

let number = 0;
async function register(metadata: Record<string, unknown> = {}) {
  number += 1;
  const name = `Boat ${String.fromCharCode(64 + number).repeat(4)}`;
  const body = { client_name: name, redirect_uris: [`https://b${number}.example/cb`], ...metadata };
  const answer = (await call(`${service.issuer}/register`, { body })).body;
  return {
    clientId: answer['client_id'] as string,
    token: answer['registration_access_token'] as string,
    name: body.client_name,
    body,
  };
}
/** Sends the form of a client's page. */
const decide = (page: Page, fields: Record<string, string>, by = agent) =>
  by.post('/admin/clients/decide', { ...formOf(page, '/admin/clients/decide'), ...fields });
/** The form for the selected entries of the list of what is pending. */
const formOfSelected = (page: Page) =>
  formOf({ ...page, body: page.body.slice(page.body.indexOf('<form class="selected"')) }, '/admin/clients/decide');
const decideSelected = (page: Page, fields: Record<string, string>) =>
  agent.post('/admin/clients/decide', { ...formOfSelected(page), ...fields });
/** The boxes that select these clients. */
const ticks = (page: Page, clientIds: string[]) => {
  const { shown = '' } = formOfSelected(page);
  const ids = shown.split(',').map((one) => one.split(' ')[0]);
  return Object.fromEntries(clientIds.map((clientId) => [`client.${ids.indexOf(clientId)}`, 'on']));
};
/** The form of one entry of the list. */
const formOfEntry = (page: Page, clientId: string, action = '/admin/clients/decide') =>
  formOf(
    { ...page, body: page.body.split('<section').find((entry) => entry.includes(`"/idp/admin/clients/${clientId}"`))! },
    action,
  );

describe('the list', () => {
  test('the list finds clients by a search, and keeps the filter on every further page (pages, clients)', async () => {
    for (let count = 0; count < 30; count++) await service.createClient({ client_name: `Ferry ${count}` });
    const page = await at('?q=ferry&status=enabled');
    expect(page).toMatchObject({ status: 200 });
    expect(page.body.match(/<th scope="row">/g)).toHaveLength(25);
    const next = /href="([^"]*)" rel="next"/.exec(page.body)![1]!.replaceAll('&amp;', '&');
    expect(next).toMatch(/^\/idp\/admin\/clients\?q=ferry&status=enabled&cursor=/);
    const second = await agent.get(next.slice('/idp'.length));
    expect(second.body.match(/<th scope="row">/g)).toHaveLength(5);
    expect(second.body).toContain('value="ferry"');
    expect((await at('?q=nosuch')).body).toContain('No clients found.');
    expect((await at('?cursor=x')).status).toBe(400);
  });

  test('the list of waiting clients has a separate page (pages, clients)', async () => {
    expect(await at('?waiting=true')).toMatchObject({
      status: 303,
      location: `${service.issuer}/admin/clients/waiting`,
    });
  });
});

describe('waiting registrations and changes', () => {
  test('the page of a registration shows look-alike names, unknown hosts, and the address that sent it (security R48)', async () => {
    await service.createClient({ client_name: 'Harbour', redirect_uris: ['https://harbour.example/cb'] });
    const { clientId } = await register({
      client_name: 'Hаrbour', // with a Cyrillic letter
      redirect_uris: ['https://harbour.example/cb', 'https://harb0ur.example/cb'],
      contacts: ['ops@harb0ur.example'],
    });
    const page = await at(`/${clientId}`);
    expect(page.body).toContain('New registration pending approval');
    expect(page.body).toContain('looks the same');
    expect(page.body).toContain('Not used by any client before.');
    expect(page.body).toContain('Known since');
    expect(page.body).toContain('ops@harb0ur.example');
    expect(page.body).toMatch(/Registered from<\/dt><dd><bdi dir="ltr">(127\.0\.0\.1|::1)/);
  });

  test('the page of an approved client shows a waiting change as a difference from the approved values (security R45)', async () => {
    const { clientId, token, body } = await register();
    await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [clientId]);
    const widened = { ...body, redirect_uris: ['https://elsewhere.example/cb'], client_id: clientId };
    await call(`${service.issuer}/register/${clientId}`, { method: 'PUT', token, body: widened });
    const page = await at(`/${clientId}`);
    expect(page.body).toMatch(/<del>.*b\d+\.example\/cb.*<\/del>/);
    expect(page.body).toMatch(/<ins>.*elsewhere\.example\/cb.*<\/ins>/);
    const done = await decide(page, { decision: 'approve' });
    expect(done.location).toBe(`${service.issuer}/admin/clients/${clientId}?done=client-approved`);
    expect((await stored(clientId))!.metadata.redirect_uris).toEqual(['https://elsewhere.example/cb']);
    expect((await events(clientId))[0]).toEqual({ type: 'client.approved', actor: ada.sub });
    expect((await agent.follow(done)).body).toContain('Approved.');
  });

  test('an administrator decides on several clients at once; those that changed meanwhile are named and stay as they were (security R90)', async () => {
    const [first, second, third, untouched] = [await register(), await register(), await register(), await register()];
    const page = await at('/waiting');
    const { clientId, token, body } = second;
    await call(`${service.issuer}/register/${clientId}`, {
      method: 'PUT',
      token,
      body: { ...body, client_id: clientId, scope: 'openid email' },
    });
    await call(`${service.issuer}/register/${third.clientId}`, { method: 'DELETE', token: third.token });
    const answer = await decideSelected(page, {
      ...ticks(page, [first.clientId, clientId, third.clientId]),
      decision: 'approve',
    });
    expect(answer.status).toBe(409);
    const report = /id="problem-heading"(.*?)<h1>/s.exec(answer.body)![1]!;
    expect(report).toContain('1 entry processed');
    expect(report).toContain(second.name);
    expect(report).not.toContain(first.name);
    expect(report).toContain('1 entry is no longer pending');
    expect((await stored(first.clientId))!.status).toBe('enabled');
    expect((await stored(clientId))!.status).toBe('disabled');
    expect((await stored(untouched.clientId))!.status).toBe('disabled');
  });

  test('an administrator decides on several clients at once by admin route and by command line (security R90)', async () => {
    const [first, second, third, fourth] = [await register(), await register(), await register(), await register()];
    const token = await adminToken(service);
    const send = (body: unknown) => call(`${service.issuer}/admin/api/clients/decide`, { token, body });
    const version = (await stored(first.clientId))!.version;
    const decided = await send({
      decision: 'approve',
      clients: [
        { client_id: first.clientId, version },
        { client_id: second.clientId, version: version + 1 },
        { client_id: 'nobody', version },
      ],
    });
    expect(decided.body).toEqual({
      outcomes: [
        { client_id: first.clientId, outcome: 'decided' },
        { client_id: second.clientId, outcome: 'changed' },
        { client_id: 'nobody', outcome: 'gone' },
      ],
    });
    expect((await stored(first.clientId))!.status).toBe('enabled');
    const clients = [{ client_id: second.clientId, version }];
    expect((await send({ decision: 'refuse', clients })).status).toBe(400);
    await send({ decision: 'refuse', reason: 'Unknown here', clients });
    expect((await stored(second.clientId))!.refusalReason).toBe('Unknown here');

    const approved = await runCommand(service, ['client', 'approve', third.clientId, fourth.clientId]);
    expect(approved).toMatchObject({ code: 0 });
    expect(approved.stdout).toMatch(new RegExp(`${third.clientId} +approved`));
    expect((await stored(fourth.clientId))!.status).toBe('enabled');
    const refused = await runCommand(service, ['client', 'refuse', third.clientId, second.clientId, '--reason', 'No']);
    expect(refused).toMatchObject({ code: 1 });
  });

  test('a refusal needs a reason, which the registrant reads (decisions section 2)', async () => {
    const [first, second] = [await register(), await register()];
    const page = await at('/waiting');
    const both = ticks(page, [first.clientId, second.clientId]);
    const silent = await decideSelected(page, { ...both, decision: 'refuse' });
    expect(silent).toMatchObject({ status: 400 });
    expect(silent.body).toContain('Enter a reason for refusing.');
    // the entries stay selected
    expect(silent.body.match(/type="checkbox" form="selected" checked/g)).toHaveLength(2);
    expect((await decideSelected(page, { decision: 'approve' })).body).toContain('Select at least one entry.');
    const done = await decideSelected(page, { ...both, decision: 'refuse', reason: 'Nobody knows you.' });
    expect(done.location).toContain('/admin/clients/waiting?done=client-refused');
    for (const { clientId, token } of [first, second])
      expect((await call(`${service.issuer}/register/${clientId}`, { method: 'GET', token })).body).toMatchObject({
        refusal_reason: 'Nobody knows you.',
      });
  });

  test('each pending entry has a form of its own that approves or refuses it alone (pages, pending approval)', async () => {
    const [first, second, third] = [await register(), await register(), await register()];
    const page = await at('/waiting');
    const send = ({ clientId }: typeof first, fields: Record<string, string>) =>
      agent.post('/admin/clients/decide', { ...formOfEntry(page, clientId), ...fields });
    expect((await send(first, { decision: 'approve' })).location).toContain('/waiting?done=client-approved');
    expect((await stored(first.clientId))!.status).toBe('enabled');
    const silent = await send(second, { decision: 'refuse' });
    expect(silent).toMatchObject({ status: 400 });
    expect(silent.body).toMatch(/<p class="fault" id="reason-\d+-fault">Enter a reason for refusing/);
    expect(silent.body).not.toContain('id="reason-fault"');
    expect((await stored(second.clientId))!.refusalReason).toBeUndefined();
    await send(second, { decision: 'refuse', reason: 'Not ours.' });
    expect((await stored(second.clientId))!.refusalReason).toBe('Not ours.');
    expect((await stored(third.clientId))!).toMatchObject({ status: 'disabled', refusalReason: undefined });
    // a form of one entry decides about no other
    const { version } = (await stored(third.clientId))!;
    const forged = await send(second, { decision: 'approve', shown: `${third.clientId} ${version}` });
    expect(forged).toMatchObject({ status: 400 });
  });

  test('the page of a client asks for the reason of a refusal where it is missing (pages, pending approval)', async () => {
    const { clientId } = await register();
    const answer = await decide(await at(`/${clientId}`), { decision: 'refuse' });
    expect(answer).toMatchObject({ status: 400 });
    expect(title(answer)).toBe((await stored(clientId))!.metadata.client_name);
    expect(answer.body).toContain('id="reason-client-fault"');
  });

  test('an entry shows its warnings before its facts: a similar name, and a host that no client has used (pages, pending approval, security R48)', async () => {
    await service.createClient({ client_name: 'Breakwater' });
    const { clientId } = await register({ client_name: 'Breakwаter', redirect_uris: ['https://new-host.example/cb'] });
    const page = await at('/waiting');
    const entry = page.body.split('<section').find((text) => text.includes(`"/idp/admin/clients/${clientId}"`))!;
    const places = ['looks the same', 'new-host.example</bdi> Not used by any client before.', 'class="facts"'];
    expect(places.map((text) => entry.indexOf(text))).toEqual(
      places.map((text) => entry.indexOf(text)).toSorted((a, b) => a - b),
    );
    for (const text of places) expect(entry).toContain(text);
  });

  test('a decision takes only what its page showed: the form accepts no other client and no other version (security R55)', async () => {
    const [first, second] = [await register(), await register()];
    const page = await at(`/${first.clientId}`);
    const form = { decision: 'approve' };
    const { version } = (await stored(second.clientId))!;
    for (const shown of [`${second.clientId} ${version}`, `${first.clientId} 99`, 'x'])
      expect((await decide(page, { ...form, shown })).status).toBe(400);
    const elsewhere = await agent.post(
      '/admin/clients/decide',
      { ...formOf(page, '/admin/clients/decide'), ...form },
      { origin: 'https://evil.example' },
    );
    expect(elsewhere.status).toBe(403);
    for (const { clientId } of [first, second]) expect((await stored(clientId))!.status).toBe('disabled');
  });
});

describe('a client', () => {
  test('the form creates an enabled client, and shows its working secrets once (pages, clients)', async () => {
    const form = filledForm(await at('/new/web'));
    const page = await agent.post('/admin/clients/new/web', {
      ...form,
      client_name: 'Quay',
      redirect_uris: 'https://quay.example/cb\r\nhttps://quay.example/cb2',
      id_token_claims: 'true',
      self_managed: 'true',
    });
    expect(page.status).toBe(200);
    expect(title(page)).toBe('Client created');
    const secret = (name: string) =>
      new RegExp(`<bdi class="secret" id="${name}" dir="ltr">([^<]*)`).exec(page.body)![1]!;
    const client = (await stored(secret('client_id')))!;
    expect(client).toMatchObject({ status: 'enabled', approvedBy: 'administrator', selfRegistered: false });
    expect(client.metadata).toMatchObject({
      client_name: 'Quay',
      redirect_uris: ['https://quay.example/cb', 'https://quay.example/cb2'],
      grant_types: ['authorization_code', 'refresh_token'],
      require_pkce: true,
      id_token_claims: true,
    });
    expect(secret('issuer')).toBe(service.issuer);
    const read = await call(`${service.issuer}/register/${client.clientId}`, {
      method: 'GET',
      token: secret('registration_access_token'),
    });
    expect(read.status).toBe(200);
    expect((await at(`/${client.clientId}`)).body).not.toContain(secret('client_secret'));
    expect((await events(client.clientId))[0]).toEqual({ type: 'client.created', actor: ada.sub });
  });

  test('a form that is sent several times creates one client (pages, clients)', async () => {
    const form: Record<string, string> = {
      ...filledForm(await at('/new/web')),
      client_name: 'Twice',
      redirect_uris: 'https://twice.example/cb',
    };
    // the form keeps its client_id after a refusal
    const refused = await agent.post('/admin/clients/new/web', { ...form, redirect_uris: 'nowhere' });
    expect(refused.status).toBe(400);
    expect(formOf(refused, '/admin/clients/new/web')['client_id']).toBe(form['client_id']);
    const answers = await Promise.all([1, 2].map(() => agent.post('/admin/clients/new/web', form)));
    // each of the answers shows the secret
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    await service.database.sql('UPDATE form_outcomes SET expires_at = now()');
    const again = await agent.post('/admin/clients/new/web', form);
    expect(again.location).toBe(`${service.issuer}/admin/clients/${form['client_id']}?done=client-made-before`);
    expect(await service.store.clients.list({ search: 'twice' }, { limit: 9, after: undefined })).toHaveLength(1);
    // the form is bound to its client_id
    expect((await agent.post('/admin/clients/new/web', { ...form, client_id: 'chosen' })).status).toBe(400);
  });

  test('a saved form leaves the fields that the administrator did not touch as they were (pages, clients)', async () => {
    const { clientId } = await service.createClient({
      client_name: 'Pier',
      contacts: ['a@pier.example', 'Pier desk'],
      scope: 'openid email admin',
      response_types: ['code', 'code id_token'],
      grant_types: ['authorization_code', 'implicit'],
      default_max_age: 600,
      jwks_uri: 'https://pier.example/jwks',
      subject_type: 'pairwise',
      request_uris: ['https://pier.example/object'],
      backchannel_logout_uri: 'https://pier.example/bye',
      backchannel_logout_session_required: true,
    });
    const before = (await stored(clientId))!;
    const form = filledForm(await at(`/${clientId}/edit`));
    expect(Object.keys(form).length).toBeLessThanOrEqual(128);
    const saved = await agent.post(`/admin/clients/${clientId}/edit`, form);
    expect(saved.location).toBe(`${service.issuer}/admin/clients/${clientId}?done=client-saved`);
    expect((await stored(clientId))!.metadata).toEqual(before.metadata);
    const form2 = filledForm(await at(`/${clientId}/edit`));
    await agent.post(`/admin/clients/${clientId}/edit`, {
      ...form2,
      client_name: 'Pier 2',
      access_token_lifetime: '60',
      first_party: 'true',
    });
    expect(await stored(clientId)).toMatchObject({
      firstParty: true,
      accessTokenLifetime: 60,
      metadata: { ...before.metadata, client_name: 'Pier 2' },
    });
  });

  test('a form with invalid fields saves nothing, names each field, and keeps the input (decisions section 2)', async () => {
    const form = filledForm(await at('/new/web'));
    const page = await agent.post('/admin/clients/new/web', {
      ...form,
      client_name: '"><script>alert(1)</script>',
      redirect_uris: 'http://evil.example/cb',
      client_uri: 'ftp://x',
      access_token_lifetime: 'soon',
      jwks: '{',
    });
    expect(page.status).toBe(400);
    for (const field of ['client_uri', 'access_token_lifetime', 'jwks'])
      expect(page.body).toContain(`<p class="fault" id="${field}-fault">`);
    expect(page.body).toContain('&lt;script&gt;');
    expect(page.body).not.toContain('<script>alert');
    expect(page.body).toContain('http://evil.example/cb');
    const uri = await agent.post('/admin/clients/new/web', { ...form, redirect_uris: 'http://evil.example/cb' });
    expect(uri.body).toContain('<p class="fault" id="redirect_uris-fault">');
    // the message is in the language of the page, and not the English text of the API
    const german = await agent.post(
      '/admin/clients/new/web',
      { ...form, redirect_uris: 'ftp://x' },
      { 'accept-language': 'de' },
    );
    expect(german.body).toContain('Eine URI ist nicht zulässig.');
    expect(german.body).not.toContain('contains a URI');
    // each value is valid alone, but not together
    const whole = await agent.post('/admin/clients/new/web', {
      ...form,
      redirect_uris: 'https://quay.example/cb',
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'HS256',
    });
    expect(whole.body).toContain('Public clients can’t use this.');
  });

  test('a form of an older version does not overwrite the client (security R90)', async () => {
    const { clientId } = await service.createClient({ client_name: 'Jetty' });
    const form = filledForm(await at(`/${clientId}/edit`));
    await service.database.sql(`UPDATE clients SET first_party = true WHERE client_id = $1`, [clientId]);
    const page = await agent.post(`/admin/clients/${clientId}/edit`, { ...form, client_name: 'Other' });
    expect(page).toMatchObject({ status: 409 });
    expect(page.body).toContain('The client was changed elsewhere');
    expect((await stored(clientId))!.metadata.client_name).toBe('Jetty');
    expect((await agent.post(`/admin/clients/${clientId}/edit`, { ...form, version: '2' })).status).toBe(400);
  });

  test('the pages show every registered member as text only (security R93)', async () => {
    const { clientId } = await service.createClient({ client_name: 'Mole' });
    const evil = `"'><img src=x onerror=alert(1)><script>alert(2)</script>`;
    await service.database.sql(
      `UPDATE clients SET metadata = metadata || $2::jsonb, refused_at = NULL WHERE client_id = $1`,
      [
        clientId,
        JSON.stringify({
          client_name: evil,
          contacts: [evil],
          client_uri: `javascript:alert(3)`,
          software_id: evil,
          scope: evil,
          redirect_uris: [`https://x.example/${evil}`],
        }),
      ],
    );
    for (const path of [
      `/${clientId}`,
      `/${clientId}/edit`,
      `/${clientId}/delete`,
      `/${clientId}/disable`,
      `/${clientId}/secrets`,
      '?q=%22',
    ]) {
      const page = await at(path);
      expect(page.status, path).toBe(200);
      expect(page.body, path).not.toContain('<img');
      expect(page.body, path).not.toContain('<script>');
      expect(page.body, path).not.toContain('href="javascript:');
    }
  });

  test('a form renews the ticked secrets, once, at the version that its page showed (security R70)', async () => {
    const client = await service.createClient({ client_name: 'Buoy' });
    const path = `/admin/clients/${client.clientId}/secrets`;
    const form = formOf(await agent.get(path), path);
    expect(await agent.post(path, form)).toMatchObject({ status: 400 });
    const page = await agent.post(path, { ...form, client_secret: 'on' });
    expect(title(page)).toBe('New secrets');
    expect(page.body).not.toContain('shared_secret');
    expect((await events(client.clientId))[0]).toEqual({ type: 'client.credentials_renewed', actor: ada.sub });
    await service.database.sql('UPDATE form_outcomes SET expires_at = now()');
    expect(await agent.post(path, { ...form, client_secret: 'on' })).toMatchObject({ status: 409 });
  });

  test('a client is disabled after a confirmation, and deleted only after its name is typed (pages, pending approval)', async () => {
    const { clientId } = await service.createClient({ client_name: 'Wharf' });
    const disabling = `/admin/clients/${clientId}/disable`;
    const confirmed = formOf(await agent.get(disabling), disabling);
    expect((await agent.post(disabling, confirmed)).location).toContain('done=client-disabled');
    expect((await stored(clientId))!.status).toBe('disabled');
    const path = `/admin/clients/${clientId}/delete`;
    const form = formOf(await agent.get(path), path);
    for (const typed of [undefined, '', 'Warf'])
      expect(await agent.post(path, { ...form, ...(typed !== undefined && { typed }) })).toMatchObject({ status: 400 });
    expect(await stored(clientId)).toBeDefined();
    expect((await agent.post(path, { ...form, typed: ' Wharf ' })).location).toContain('done=client-deleted');
    expect(await stored(clientId)).toBeUndefined();
    expect((await events(clientId)).map(({ type }) => type)).toEqual([
      'client.deleted',
      'client.disabled',
      'client.created',
    ]);
    expect((await at(`/${clientId}`)).status).toBe(404);
  });

  test('a disabled client can be enabled again from its page (decisions section 2)', async () => {
    const { clientId } = await service.createClient({ client_name: 'Lock' });
    await service.database.sql(`UPDATE clients SET status = 'disabled' WHERE client_id = $1`, [clientId]);
    const page = await at(`/${clientId}`);
    expect(await decide(page, { decision: 'approve' })).toMatchObject({ status: 303 });
    expect((await stored(clientId))!.status).toBe('enabled');
  });
});

describe('access to the client pages', () => {
  const pages = ['', '/new', '/new/web', '/waiting', '/ID', '/ID/edit', '/ID/secrets', '/ID/disable', '/ID/delete'];
  const operations = ['/new/web', '/decide', '/ID/edit', '/ID/secrets', '/ID/disable', '/ID/delete', '/ID/look-alikes'];

  test('a user who is not an administrator sees no page and changes nothing (security R89)', async () => {
    const { clientId } = await service.createClient({ client_name: 'Anchor' });
    const signedOut = new UserAgent(service);
    const user = await service.createUser({ username: 'eve' });
    const eve = new UserAgent(service);
    await eve.signIn(user);
    for (const path of pages) {
      const address = `/admin/clients${path.replace('ID', clientId)}`;
      expect((await signedOut.get(address)).location, path).toContain('/authorize?');
      expect((await eve.get(address)).status, path).toBe(403);
    }
    for (const path of operations) {
      const address = `/admin/clients${path.replace('ID', clientId)}`;
      const form = {
        csrf: 'x',
        shown: `${clientId} 1`,
        version: '1',
        decision: 'approve',
        typed: 'Anchor',
        name: 'Anchor',
        other: clientId,
        other_name: 'Anchor',
        'client.0': 'on',
      };
      expect((await signedOut.post(address, form)).location, path).toContain('/authorize?');
      expect((await eve.post(address, form)).status, path).toBe(403);
      // nor does an administrator with a forged form
      expect((await agent.post(address, form)).status, path).toBe(400);
    }
    expect(await stored(clientId)).toMatchObject({ status: 'enabled', version: 1 });
  });

  test('a form that is sent more than 15 minutes after the sign-in asks for a new sign-in, and changes nothing (security R91)', async () => {
    const { clientId } = await service.createClient({ client_name: 'Chain' });
    const forms = new Map<string, Record<string, string>>();
    for (const operation of ['secrets', 'disable', 'delete', 'edit']) {
      const path = `/admin/clients/${clientId}/${operation}`;
      forms.set(path, formOf(await agent.get(path), path));
    }
    await setSignInAge(16);
    for (const [path, form] of forms) {
      const answer = await agent.post(path, { ...form, typed: 'Chain', client_secret: 'on' });
      expect(answer.location, path).toMatch(/\/authorize\?.*max_age=900/);
    }
    expect(await stored(clientId)).toMatchObject({ status: 'enabled', version: 1 });
    await setSignInAge(0);
  });
});
