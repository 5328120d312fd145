// A deleted user is nowhere in the database but for the sub in the audit trail, whose events have no name and no address in their details.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeOldAddresses } from '../../src/jobs/retention.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, eventually, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startDirectory } from '../helpers/scim.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';
import { WebhookReceiver } from '../helpers/webhook-receiver.ts';

let receiver: WebhookReceiver;
let service: TestService;
let token: string;
beforeAll(async () => {
  receiver = await new WebhookReceiver().start();
  service = await startTestService({
    environment: { ...withoutLimits, OUTBOUND_ALLOW: receiver.host, LIMIT_SCIM: '0' },
  });
  token = await adminToken(service);
  await admin('/webhooks', 'POST', { name: 'All', url: receiver.uri('/all'), events: ['*'] });
});
afterAll(async () => {
  await service?.stop();
  await receiver?.stop();
});

const admin = (path: string, method = 'GET', body?: object) =>
  call(`${service.issuer}/admin/api${path}`, { method, token, ...(body && { body }) });

/** The tables with a row that has a text, in any case. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await service.database.sql<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await service.database.sql<{ row: string }>(
      `SELECT t::text AS row FROM ${name} t WHERE t::text ILIKE $1`,
      [`%${text}%`],
    );
    if (rows.length > 0) found.push(`${name}: ${rows[0]!.row.slice(0, 300)}`);
  }
  return found;
}

const mark = 'quillfeather';
const marked = {
  username: `${mark}-name`,
  email: `${mark}@example.com`,
  password: 'correct horse battery staple',
};

/** Lets messages and mails about the user go. */
const settled = () =>
  eventually(
    () =>
      service.database.sql<{ n: number }>(
        `SELECT (SELECT count(*) FROM outbox)::int + (SELECT count(*) FROM webhook_deliveries WHERE status = 'waiting')::int AS n`,
      ),
    ([row]) => row!.n === 0,
  );

test('of a deleted user only the sub stays: no name, address, phone number, attribute or id of a directory is in any table (federation F112)', async () => {
  await admin('/attributes', 'POST', { name: 'desk', type: 'string', person: 'read' });
  const user = await service.createUser({
    ...marked,
    emailVerified: true,
    claims: { phone_number: `+49 30 ${mark}`, address: { street_address: `${mark} Street 1` }, name: `Ada ${mark}` },
  });
  expect((await admin(`/users/${user.sub}`, 'PATCH', { attributes: { desk: `desk of ${mark}` } })).status).toBe(200);
  await admin('/groups', 'POST', { name: 'staff' });
  await admin(`/users/${user.sub}`, 'PATCH', { groups: ['staff'], given_name: `Given ${mark}` });
  const agent = new UserAgent(service);
  // what is typed as a name, right and wrong, and what a browser says of itself
  await new UserAgent(service).signIn({ username: marked.username, password: 'a wrong password' });
  await new UserAgent(service).signIn({ username: marked.email, password: 'a wrong password' });
  await obtainTokens(
    service,
    await service.createClient({ scope: 'openid email profile' }),
    user,
    { scope: 'openid email' },
    agent,
  );
  // a change of the address that is not confirmed
  const page = await agent.get('/account/email');
  await agent.post('/account/email', {
    ...hiddenFields(page.body),
    email: `new-${mark}@example.com`,
    password: marked.password,
  });
  await fetch(`${service.issuer}/admin/api/users/export?format=csv&search=${mark}`, {
    headers: { authorization: `Bearer ${token}` },
  }).then((answer) => answer.text());
  expect(await tablesWith(mark)).not.toEqual([]);
  await settled();
  expect((await admin(`/users/${user.sub}`, 'DELETE')).status).toBe(204);
  await settled();
  expect(await tablesWith(mark)).toEqual([]);
  const trail = await eventsOf(service, { sub: user.sub });
  expect(trail.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['user.created', 'user.signed_in', 'user.deleted']),
  );
  for (const { body } of receiver.received) expect(body).not.toContain(mark);
});

const scimMark = 'inkwellpetal';

test('of a user of a directory that is deleted nothing stays but the sub, and neither the id of the directory (federation F112)', async () => {
  const directory = await startDirectory(service, token, 'erasing');
  const { id } = await directory.user({
    userName: `${scimMark}-scim`,
    externalId: `${scimMark}-id`,
    name: { formatted: `Scim ${scimMark}` },
    emails: [{ value: `scim-${scimMark}@example.com`, primary: true }],
  });
  await directory.group('readers', [id]);
  expect(await tablesWith(scimMark)).not.toEqual([]);
  expect((await directory.send('DELETE', `/Users/${id}`)).status).toBe(204);
  await settled();
  // the source disables a user first, and the job deletes the row
  await admin(`/users/${id}`, 'DELETE');
  await settled();
  expect(await tablesWith(scimMark)).toEqual([]);
});

test('network addresses leave the events of the audit trail before the events do, and nothing else of an event can change (federation 14)', async () => {
  const { sql } = service.database;
  await sql(`INSERT INTO audit_events (at, type, outcome, address) VALUES
    (now() - interval '40 days', 'user.signed_in', 'success', '192.0.2.40'),
    (now() - interval '20 days', 'user.signed_in', 'success', '192.0.2.20')`);
  const addresses = async () =>
    (
      await sql<{ address: string | null }>(
        `SELECT host(address) AS address FROM audit_events WHERE at < now() - interval '10 days' ORDER BY at`,
      )
    ).map(({ address }) => address);
  expect(await removeOldAddresses(service.store, 30 * 86_400)).toBe(false);
  expect(await addresses()).toEqual([null, '192.0.2.20']);
  // a shorter time reaches the later ones
  await removeOldAddresses(service.store, 15 * 86_400);
  expect(await addresses()).toEqual([null, null]);
  const refused = [
    [`UPDATE audit_events SET address = NULL`, ''],
    [`UPDATE audit_events SET address = NULL`, '60'],
    [`UPDATE audit_events SET address = NULL`, '86400'],
    [`UPDATE audit_events SET outcome = 'failure' WHERE at < now() - interval '10 days'`, '86400'],
    [`UPDATE audit_events SET address = '192.0.2.1' WHERE at < now() - interval '10 days'`, '86400'],
    [`DELETE FROM audit_events`, '86400'],
  ] as const;
  for (const [statement, kept] of refused)
    await expect(
      sql(`DO $$ BEGIN PERFORM set_config('gatehouse.audit_address_retention', '${kept}', true); ${statement}; END $$`),
      statement,
    ).rejects.toThrow('append-only');
});
