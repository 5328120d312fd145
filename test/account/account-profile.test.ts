// GET /account/profile and its form let users change the claims that the setting allows, and no others.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { filledForm, openConsole } from '../helpers/console.ts';
import { adminToken, call, obtainTokens, userinfo } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

const path = '/account/profile';
const editPath = '/account/profile/edit';
const claims = {
  name: 'Grace Hopper',
  preferred_username: 'amazing',
  phone_number: '+1 555 0100',
  phone_number_verified: true,
  address: { formatted: '1 Pier\nArlington' },
  picture: 'https://grace.example/face.png',
};

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
});
afterAll(() => service?.stop());

async function signedIn(user: TestUser): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
}
/** Reads the values of the form's fields, as a browser sends them back. */
function fieldsOf({ body }: Page): Record<string, string> {
  const fields = hiddenFields(body);
  for (const [, name, value] of body.matchAll(/<input id="\w+" name="(\w+)" type="\w+" value="([^"]*)"/g))
    fields[name!] = value!;
  fields['street_address'] = /<textarea[^>]*>([^<]*)</.exec(body)?.[1] ?? '';
  fields['locale'] = /<option value="([^"]*)"[^>]* selected/.exec(body)?.[1] ?? '';
  return fields;
}
async function edit(agent: UserAgent, change: Record<string, string>, base = service.issuer): Promise<Page> {
  return agent.post(base + editPath, { ...fieldsOf(await agent.get(base + editPath)), ...change });
}
const claimsOf = async ({ sub }: TestUser) => (await service.store.users.find(sub))!.claims;
const eventsOf = ({ sub }: TestUser) =>
  service.database.sql(
    `SELECT actor, address IS NOT NULL AS located, detail FROM audit_events WHERE sub = $1 AND type = 'user.changed'`,
    [sub],
  );

test('a change is stored, released to clients with the scope, and recorded without its values (pages, account, security R101)', async () => {
  const user = await service.createUser({ claims });
  const agent = await signedIn(user);
  const client = await service.createClient({ client_name: 'Harbour', scope: 'openid profile phone' });
  const tokens = await obtainTokens(service, client, undefined, { scope: 'openid profile phone' }, agent);
  expect((await agent.get(editPath)).body).toMatch(/id="name-seen">Visible to <bdi>Harbour<\/bdi>/);
  const page = await edit(agent, {
    name: '  Grace "Amazing" Hopper ',
    birthdate: '1906-12-09',
    phone_number: '+1 555 0199',
    street_address: '2 Pier\r\nFloor 3',
    locality: 'New York',
    locale: 'en-us',
    zoneinfo: 'America/New_York',
  });
  expect([page.status, page.location]).toEqual([303, `${service.issuer}${path}?done=profile-saved`]);
  const shown = await agent.follow(page);
  expect(shown.body).toMatch(/role="status"[^]*Profile saved/);
  expect(shown.body).toContain('Grace &quot;Amazing&quot; Hopper');
  expect(await claimsOf(user)).toEqual({
    name: 'Grace "Amazing" Hopper',
    preferred_username: 'amazing',
    picture: claims.picture,
    birthdate: '1906-12-09',
    phone_number: '+1 555 0199',
    address: { street_address: '2 Pier\nFloor 3', locality: 'New York' },
    locale: 'en-US',
    zoneinfo: 'America/New_York',
  });
  expect((await userinfo(service.instances[1]!, tokens.access_token)).body).toMatchObject({
    name: 'Grace "Amazing" Hopper',
    phone_number: '+1 555 0199',
    phone_number_verified: false,
  });
  const members = ['address', 'birthdate', 'locale', 'name', 'phone_number', 'phone_number_verified', 'zoneinfo'];
  expect(await eventsOf(user)).toEqual([{ actor: user.sub, located: true, detail: { members } }]);
});

test('an unchanged form changes nothing, and an emptied field removes the claim (pages, account)', async () => {
  const user = await service.createUser({ claims });
  const agent = await signedIn(user);
  const untouched = await edit(agent, {});
  expect([untouched.status, untouched.location]).toEqual([303, service.issuer + path]);
  expect(await claimsOf(user)).toEqual(claims);
  await edit(agent, { name: '', street_address: '', phone_number: '' });
  expect(await claimsOf(user)).toEqual({ preferred_username: 'amazing', picture: claims.picture });
});

test("the form changes neither claims that the setting does not list nor the user's identity (security R88)", async () => {
  const user = await service.createUser({ claims, email: 'grace@example.org', groups: ['navy'] });
  const agent = await signedIn(user);
  await edit(agent, {
    nickname: 'Amazing',
    picture: 'https://evil.example/x.png',
    preferred_username: 'admin',
    phone_number_verified: 'true',
    email: 'evil@example.org',
    email_verified: 'true',
    username: 'admin',
    admin: 'true',
    groups: 'admins',
    sub: 'someone',
    __proto__: 'x',
  });
  expect(await service.store.users.find(user.sub)).toMatchObject({
    username: user.username,
    email: 'grace@example.org',
    emailVerified: false,
    admin: false,
    groups: ['navy'],
    claims: { ...claims, nickname: 'Amazing' },
  });
});

describe('an invalid value', () => {
  let user: TestUser;
  let agent: UserAgent;
  beforeAll(async () => {
    user = await service.createUser({ claims });
    agent = await signedIn(user);
  });

  test.each([
    ['birthdate', '2001-02-29', 'a date in the past'],
    ['birthdate', '2999-01-01', 'a date in the past'],
    ['birthdate', '9 December', 'a date in the past'],
    ['website', 'javascript:alert(1)', 'a full address'],
    ['website', 'ada.example', 'a full address'],
    ['phone_number', 'call me', 'enter a phone number'],
    ['zoneinfo', 'Mars/Olympus', 'a region and a city'],
    ['zoneinfo', '+01:00', 'a region and a city'],
    ['locale', '--', 'choose one from the list'],
    ['name', 'x'.repeat(256), 'at most 255 characters'],
    ['name', 'a\u0007b', 'remove invisible characters'],
    ['name', 'a\nb', 'remove invisible characters'],
  ])(
    '%s cannot be %j: the page says so, and keeps the other fields (pages, account)',
    async (field, value, sentence) => {
      const page = await edit(agent, { [field]: value, nickname: 'Typed <b>' });
      expect(page.status).toBe(400);
      expect(page.body).toContain(sentence);
      expect(page.body).toContain(`id="${field}-fault"`);
      expect(page.body).toContain('Typed &lt;b&gt;');
      expect(await claimsOf(user)).toEqual(claims);
    },
  );
});

test('a change by an administrator is not overwritten without notice (pages, account)', async () => {
  const user = await service.createUser({ claims });
  const agent = await signedIn(user);
  const fields = fieldsOf(await agent.get(editPath));
  await service.store.users.update(user.sub, { claims: { ...claims, name: 'Rear Admiral Hopper' } });
  const page = await agent.post(editPath, { ...fields, nickname: 'Amazing' });
  expect(page.status).toBe(400);
  expect(page.body).toContain('Your profile was changed elsewhere');
  expect((await claimsOf(user))['name']).toBe('Rear Admiral Hopper');
  // the user has seen the notice, and sends the form again
  expect((await agent.post(editPath, fieldsOf(page))).status).toBe(303);
  expect(await claimsOf(user)).toMatchObject({ name: 'Grace Hopper', nickname: 'Amazing' });
});

test('a form of another page, user or site or from before the last sign-in changes nothing (security R55)', async () => {
  const user = await service.createUser({ claims });
  const agent = await signedIn(user);
  const fields = fieldsOf(await agent.get(editPath));
  const other = fieldsOf(await (await signedIn(await service.createUser())).get(editPath));
  const dataPage = hiddenFields((await agent.get('/account/data')).body);
  for (const csrf of [other['csrf']!, dataPage['csrf']!, 'A'.repeat(43), ''])
    expect((await agent.post(editPath, { ...fields, csrf, name: 'Mallory' })).status).toBe(400);
  const headers: Record<string, string>[] = [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'same-site' }];
  for (const sent of headers)
    expect((await agent.post(editPath, { ...fields, name: 'Mallory' }, sent)).status).toBe(403);
  await agent.signIn(user);
  expect((await agent.post(editPath, { ...fields, name: 'Mallory' })).status).toBe(400);
  expect((await new UserAgent(service).post(editPath, fields)).location).toBe(`${service.issuer}/login`);
  expect(await claimsOf(user)).toEqual(claims);
  expect(await eventsOf(user)).toEqual([]);
});

test('where the setting is none, there is no form, and the service accepts none (pages, account)', async () => {
  const closed = await startTestService({ environment: { PROFILE_EDITABLE: 'none' } });
  try {
    const user = await closed.createUser({ claims });
    const agent = new UserAgent(closed);
    await agent.signIn(user);
    expect((await agent.get(path)).body).not.toContain(editPath);
    expect((await agent.get(editPath)).status).toBe(404);
    const { csrf = '' } = hiddenFields((await agent.get('/account/data')).body);
    expect((await agent.post(editPath, { csrf, version: '1', name: 'Mallory' })).status).toBe(400);
    expect((await closed.store.users.find(user.sub))!.claims).toEqual(claims);
  } finally {
    await closed.stop();
  }
});

test("the page shows only the service's own messages after an operation (security R93)", async () => {
  const agent = await signedIn(await service.createUser());
  for (const done of ['<b>', 'unknown', '__proto__', 'constructor'])
    expect((await agent.get(`/account/security?done=${encodeURIComponent(done)}`)).body).not.toContain('role="status"');
});

test('a form with the most attributes that users can change is saved as it is shown (federation 7, security R103)', async () => {
  const token = await adminToken(service);
  const names = Array.from({ length: 100 }, (_, index) => `detail_${index}`);
  for (const name of names) {
    const body = { name, type: 'string', label: { en: name }, person: 'write' };
    expect((await call(`${service.issuer}/admin/api/attributes`, { token, body })).status).toBe(201);
  }
  const user = await service.createUser({ claims });
  const agent = await signedIn(user);
  const fields = fieldsOf(await agent.get(editPath));
  for (const name of names) fields[`attribute.${name}`] = `value of ${name}`;
  const saved = await agent.post(editPath, fields);
  expect(saved, saved.body).toMatchObject({ status: 303, location: `${service.issuer}${path}?done=profile-saved` });
  expect(await claimsOf(user)).toMatchObject({ detail_0: 'value of detail_0', detail_99: 'value of detail_99' });
  const more = Object.fromEntries(Array.from({ length: 165 }, (_, index) => [`field${index}`, 'x']));
  const refused = await agent.post(editPath, { ...fields, ...more });
  expect(refused.status).toBe(400);
  expect(service.logs.some(({ description }) => description === 'more than 164 parameters')).toBe(true);

  // an administrator sees the same fields beside those of the user
  const root = await service.createUser({ username: 'root', admin: true });
  const admin = await openConsole(service, root);
  const edit = `/admin/users/${user.sub}/edit`;
  const page = await admin.agent.get(edit);
  const typed = filledForm(page);
  expect(Object.keys(typed).length).toBeGreaterThan(100);
  const done = await admin.agent.post(edit, { ...typed, 'attribute.detail_1': 'changed' });
  expect(done.status, done.body).toBe(303);
  expect(await claimsOf(user)).toMatchObject({ detail_1: 'changed' });
});
