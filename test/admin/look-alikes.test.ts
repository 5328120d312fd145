// An administrator dismisses the warning that two clients have similar names, until one of the names changes.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let ada: Awaited<ReturnType<TestService['createUser']>>;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  ada = await service.createUser({ username: 'ada', admin: true });
  ({ agent } = await openConsole(service, ada));
});
afterAll(() => service?.stop());

const warning = 'The name could be mistaken for another client';
const warned = async (path: string) => (await agent.get(`/admin/clients/${path}`)).body.includes(warning);
const events = (clientId: string) => eventsOf(service, { type: 'client.look_alike_dismissed', clientId });
/** An enabled client, and a registration with a similar name that is pending. */
async function pair(name: string) {
  const known = (await service.createClient({ client_name: name })).clientId;
  const wanted = { client_name: `${name}s`, redirect_uris: ['https://pair.example/cb'] };
  const { body } = await call(`${service.issuer}/register`, { body: wanted });
  const pending = body['client_id'] as string;
  const rename = (to: string) =>
    call(`${service.issuer}/register/${pending}`, {
      method: 'PUT',
      token: body['registration_access_token'] as string,
      body: { ...wanted, client_id: pending, client_name: to },
    });
  const formOn = async (page: string) => formOf(await agent.get(page), `/admin/clients/${pending}/look-alikes`);
  const dismiss = (form: Record<string, string>) => agent.post(`/admin/clients/${pending}/look-alikes`, form);
  return { known, pending, rename, formOn, dismiss };
}

test('a dismissed warning stays dismissed for both clients, with one event, until a name changes (pages, pending approval)', async () => {
  const { known, pending, rename, formOn, dismiss } = await pair('Lighthouse');
  expect([await warned(pending), await warned('waiting')]).toEqual([true, true]);
  const form = await formOn(`/admin/clients/${pending}`);
  const done = await dismiss(form);
  expect(done.location).toBe(`${service.issuer}/admin/clients/${pending}?done=look-alike-dismissed`);
  expect([await warned(pending), await warned('waiting')]).toEqual([false, false]);
  await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [pending]);
  expect([await warned(pending), await warned(known)]).toEqual([false, false]);
  await dismiss(form);
  expect((await events(pending)).map(({ actor, detail }) => ({ actor, detail }))).toEqual([
    { actor: ada.sub, detail: { name: 'Lighthouses', other_client_id: known, other_name: 'Lighthouse' } },
  ]);
  // the pending name is what an administrator reviews
  await rename('Light house');
  expect(await warned(pending)).toBe(true);
  await rename('Lighthouses');
  expect(await warned(pending)).toBe(false);
  await service.database.sql(
    `UPDATE clients SET metadata = jsonb_set(metadata, '{client_name}', '"Lighthouse!"') WHERE client_id = $1`,
    [known],
  );
  expect([await warned(pending), await warned(known)]).toEqual([true, true]);
});

test('a warning is dismissed in the list of what is pending, only for the names that the list showed (pages, pending approval, security R90)', async () => {
  const { pending, rename, formOn, dismiss } = await pair('Breakwater');
  const form = await formOn('/admin/clients/waiting');
  expect((await dismiss({ ...form, other: 'another' })).status).toBe(400);
  expect((await dismiss({ ...form, name: 'Breakwater' })).status).toBe(400);
  await rename('Breakwater');
  expect((await dismiss(form)).location).toBe(`${service.issuer}/admin/clients/waiting?done=look-alike-changed`);
  expect(await warned(pending)).toBe(true);
  expect(await events(pending)).toEqual([]);
  const renewed = await formOn('/admin/clients/waiting');
  await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '16 minutes'`);
  expect((await dismiss(renewed)).location).toContain('/authorize?');
  await service.database.sql(`UPDATE sessions SET auth_time = auth_time + interval '16 minutes'`);
  expect((await dismiss(renewed)).location).toContain('/waiting?done=look-alike-dismissed');
  expect(await warned(pending)).toBe(false);
});

test('an admin route and a command dismiss a warning (pages, pending approval)', async () => {
  const token = await adminToken(service);
  const first = await pair('Jetty Office');
  const at = ({ pending, known }: typeof first) =>
    `${service.issuer}/admin/api/clients/${pending}/look-alikes/${known}/dismiss`;
  const send = (path: string, body: unknown = {}) => call(path, { token, body });
  expect(await send(at(first), { other_name: 'Jetty' })).toMatchObject({ status: 409, body: { error: 'conflict' } });
  expect(await send(at({ ...first, known: 'nobody' }))).toMatchObject({ status: 404 });
  expect(await send(at({ ...first, known: first.pending }))).toMatchObject({ status: 400 });
  expect(await warned(first.pending)).toBe(true);
  const names = { name: 'Jetty Offices', other_name: 'Jetty Office' };
  expect(await send(at(first), names)).toMatchObject({ status: 204 });
  expect(await warned(first.pending)).toBe(false);
  const second = await pair('Ferry Desk');
  const command = await runCommand(service, ['client', 'dismiss-look-alike', second.pending, second.known]);
  expect(command).toMatchObject({ code: 0 });
  expect(await warned(second.pending)).toBe(false);
  expect(await events(second.pending)).toMatchObject([{ actor: 'command line' }]);
});
