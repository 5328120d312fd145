// Plans and applies configuration files by requests: for administrators alone, and without a secret of the service.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, startAdministered } from '../../helpers/grants.ts';
import { handlerLimits } from '../../../src/server/pipeline.ts';
import type { TestService } from '../../helpers/service.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  ({ service, token } = await startAdministered());
});
afterAll(() => service?.stop());

const address = (what: string) => `${service.issuer}/admin/api/config/${what}`;
async function plan(text: string, query = '', headers: Record<string, string> = { authorization: `Bearer ${token}` }) {
  const answer = await fetch(address(`plan${query}`), {
    method: 'POST',
    headers: { 'content-type': 'application/yaml', ...headers },
    body: text,
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
const apply = (body: object) => call(address('apply'), { token, body });
const head = 'apiVersion: gatehouse/v1\nname: routes\n';

test('a request plans a file and applies that plan, once (federation 10)', async () => {
  const planned = await plan(
    `${head}attributes:\n  floor:\n    type: number\nclients:\n  spa:\n    redirect_uris: [https://spa.example/cb]\n    token_endpoint_auth_method: none\n`,
  );
  expect(planned).toMatchObject({
    status: 200,
    body: {
      name: 'routes',
      changes: [
        { section: 'attributes', key: 'floor', act: 'create' },
        { section: 'clients', key: 'spa' },
      ],
    },
  });
  const applied = await apply(planned.body);
  expect(applied).toMatchObject({ status: 200, body: { name: 'routes', changes: planned.body['changes'] } });
  const [event] = await service.database.sql<{ actor: string; detail: object }>(
    `SELECT actor, detail FROM audit_events WHERE type = 'config.applied'`,
  );
  expect(event).toMatchObject({
    actor: 'config:routes',
    detail: { created: 2, applied_by: expect.any(String) as string },
  });
  // what it saw has changed by the plan itself
  expect(await apply(planned.body)).toMatchObject({ status: 409 });
  expect((await plan(`${head}`, '?prune=true')).body['changes']).toHaveLength(2);
});

test('a plan of a hundred clients and of a type with eight levels is applied (federation 10)', async () => {
  const clients = Array.from(
    { length: 100 },
    (_, index) =>
      `  many-${index}:\n    client_name: Many ${index}\n    token_endpoint_auth_method: none\n    redirect_uris: [https://many${index}.example/cb]\n`,
  );
  const leaf = '{type: string, enum: [a, b]}';
  const schema = Array.from({ length: 7 }).reduce<string>(
    (inner) => `{type: object, properties: {in: ${inner}}}`,
    leaf,
  );
  const type = `authorization_details_types:\n  order:\n    schema: ${schema}\n    text: {en: Order}\n`;
  const planned = await plan(`${head.replace('routes', 'many')}${type}clients:\n${clients.join('')}`);
  expect(planned.status).toBe(200);
  expect(planned.body['changes']).toHaveLength(101);
  const applied = await apply(planned.body);
  expect(applied, JSON.stringify(applied.body['error_description'])).toMatchObject({ status: 200 });
  const [count] = await service.database.sql(`SELECT count(*)::int FROM clients WHERE client_id LIKE 'many-%'`);
  expect(count).toEqual({ count: 100 });
});

test('a plan that takes longer than other requests may is answered when it is applied (federation 10, decisions section 7)', async () => {
  const usual = { ...handlerLimits };
  handlerLimits.interval = 1;
  const slow = await startAdministered();
  try {
    const request = async (what: string, type: string, body: string) => {
      const headers = { authorization: `Bearer ${slow.token}`, 'content-type': `application/${type}` };
      const answer = await fetch(`${slow.service.issuer}/admin/api/config/${what}`, { method: 'POST', headers, body });
      return { status: answer.status, text: await answer.text() };
    };
    const attributes = Array.from({ length: 50 }, (_, index) => `  floor_${index}: {type: number}\n`).join('');
    const { text } = await request('plan', 'yaml', `${head}attributes:\n${attributes}`);
    handlerLimits.handler = 1;
    expect(await request('apply', 'json', text)).toMatchObject({ status: 200 });
  } finally {
    Object.assign(handlerLimits, usual);
    await slow.service.stop();
  }
});

test('a body that no plan can be is refused before it is read (security R103)', async () => {
  const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown;
  const deep = await apply({ changes: nested(40) as object });
  expect(deep.body['error_description']).toBe('the body is nested deeper than 34 levels');
  const many = Object.fromEntries(Array.from({ length: 200_001 }, (_, index) => [`m${index}`, 1]));
  expect((await apply(many)).body['error_description']).toBe('the body has more than 200000 members');
});

test.each([
  '{env: HOME}',
  '{env: SECRET_KEY}',
  '{env: DATABASE_URL}',
  '{file: /etc/shadow}',
  'generate',
  'open sesame',
])('a request with the secret %s is refused (federation F101, FR45)', async (secret) => {
  const { status, body } = await plan(
    `${head}clients:\n  x:\n    grant_types: [client_credentials]\n    client_secret: ${secret}\n`,
  );
  expect(status).toBe(400);
  expect(body['error_description']).toMatch(/^line 6 of the body: clients\.x: client_secret/);
});

test('a changed plan is refused, and so is one with secrets (federation FR45)', async () => {
  const { body } = await plan(`${head}attributes:\n  floor:\n    type: number\n    label: {en: Floor}\n`);
  const files = [
    { name: 'the body', text: `${head}attributes:\n  floor:\n    type: number\n    label: {en: Other}\n` },
  ];
  expect(await apply({ ...body, files })).toMatchObject({ status: 409 });
  const secret = `${head}clients:\n  x:\n    grant_types: [client_credentials]\n    client_secret: {env: HOME}\n`;
  expect(await apply({ ...body, files: [{ name: 'x', text: secret }] })).toMatchObject({ status: 400 });
  for (const wrong of [{}, { ...body, files: 1 }, { ...body, more: 1 }]) expect((await apply(wrong)).status).toBe(400);
});

test('only an administrator, or a client with the scope admin, plans and applies (federation 10)', async () => {
  const other = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
  const answer = await fetch(`${service.issuer}/token`, {
    method: 'POST',
    headers: { authorization: other.basic },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: weak } = (await answer.json()) as { access_token: string };
  expect((await plan(head, '', {})).status).toBe(401);
  expect((await plan(head, '', { authorization: `Bearer ${weak}` })).status).toBe(403);
  expect((await call(address('apply'), { token: weak, body: {} })).status).toBe(403);
  const form = await plan(head, '', { authorization: `Bearer ${token}`, 'content-type': 'text/plain' });
  expect(form.status).toBe(415);
});
