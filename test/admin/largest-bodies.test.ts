// The API takes the largest values that the declarations of members allow, and more of them it refuses before it reads one.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { takesBody } from '../../src/admin/operations/operation.ts';
import { allOperations } from '../../src/admin/operations/all.ts';
import { usualJson } from '../../src/oauth/json-text.ts';
import { filledForm, openConsole } from '../helpers/console.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, ID_JAG: 'on' } });
  token = await adminToken(service);
  client = await service.createClient();
  await api('POST', 'groups', { name: 'g' });
  await api('POST', 'resources', { resource: 'https://plain.example/', name: 'Plain', scopes: [{ value: 'read' }] });
});
afterAll(() => service?.stop());

const api = (method: string, path: string, body?: unknown) =>
  call(`${service.issuer}/admin/api/${path}`, { token, method, ...(body !== undefined && { body }) });
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const entries = (count: number) => Object.fromEntries(times(count, (index) => [`g${index}`, `h${index}`]));

/** A schema with as many levels as a type may have: the last one is a choice. */
function schemaOf(levels: number): object {
  if (levels === 1) return { type: 'string', enum: ['a', 'b'] };
  return { type: 'object', properties: { in: schemaOf(levels - 1) }, required: ['in'] };
}

/** Members with the most that their declarations allow, and an entry more. */
const largest: Record<string, (more: number) => Promise<[path: string, body: Record<string, unknown>]>> = {
  'connections.group_rules': async (more) => [
    'connections',
    {
      id: `corp${more}`,
      kind: 'oauth',
      preset: 'github',
      display_name: 'Corp',
      secret: 's'.repeat(40),
      settings: { client_id: 'x' },
      group_rules: times(500 + more, (index) => ({ equals: `v${index}`, group: `g${index}` })),
      claim_rules: times(50, () => ({ to: 'nickname', from: 'login', default: 'x' })),
    },
  ],
  'trusted_issuers.links': async (more) => [
    'trusted-issuers',
    {
      name: `Partner ${more}`,
      issuer: `https://partner${more}.example`,
      jwks_uri: 'https://partner.example/jwks',
      links: times(1000 + more, (index) => ({
        subject: `partner|${index}`.padEnd(255, '-'),
        user: `${index}`.padEnd(255, '-'),
      })),
      clients: [client.clientId],
      resources: ['https://plain.example/'],
      scopes: ['read'],
    },
  ],
  'connected_servers.clients': async (more) => {
    const clients = await Promise.all(times(100 + more, () => service.createClient()));
    const one = ({ clientId }: TestClient) => ({ client: clientId, id: 'x', scopes: ['y'], groups: ['g'] });
    return ['connected-servers', { name: `T${more}`, issuer: `https://t${more}.example`, clients: clients.map(one) }];
  },
  'resources.scopes': async (more) => [
    'resources',
    {
      resource: `https://api${more}.example/`,
      name: 'API',
      scopes: times(100 + more, (index) => ({ value: `s${index}`, description: { en: 'x', de: 'y', ar: 'z' } })),
    },
  ],
  'authorization_details_types.schema': async (more) => [
    'authorization-details-types',
    { type: `order${more}`, schema: schemaOf(8 + more), text: { en: 'Order' } },
  ],
};

test.each(Object.keys(largest))(
  'the largest value of %s is taken, shown, and taken again, and a larger one is refused (security R103, federation 10)',
  async (name) => {
    const [, member] = name.split('.') as [string, string];
    const [path, body] = await largest[name]!(0);
    const created = await api('POST', path, body);
    expect(created, JSON.stringify(created.body['error_description'])).toMatchObject({ status: 201 });
    expect(created.body[member]).toEqual(body[member]);
    const id = String(created.body['id']);
    const shown = (await api('GET', `${path}/${id}`)).body;
    const again = await api('PATCH', `${path}/${id}`, { [member]: shown[member] });
    expect(again, JSON.stringify(again.body['error_description'])).toMatchObject({ status: 200 });
    expect(again.body[member]).toEqual(body[member]);
    const [, beyond] = await largest[name]!(1);
    const refused = await api('POST', path, beyond);
    expect(refused.status).toBe(400);
    // the rule of the member says it, and no limit of the body
    expect(refused.body['error_description']).not.toMatch(/^the body /);
  },
);

test('the form of a trusted issuer takes as many links as the API (security R103)', async () => {
  const [, body] = await largest['trusted_issuers.links']!(0);
  const root = await service.createUser({ username: 'root', admin: true });
  const { agent } = await openConsole(service, root);
  const { id } = (await api('POST', 'trusted-issuers', { ...body, name: 'Form', issuer: 'https://form.example' })).body;
  const path = `/admin/trusted-issuers/${String(id)}`;
  const form = filledForm(await agent.get(path));
  expect(form['links']?.length).toBeGreaterThan(500_000);
  const saved = await agent.post(path, { ...form, max_lifetime: '299' });
  expect(saved.status, saved.body.slice(0, 300)).toBe(303);
  const { links, max_lifetime: lifetime } = (await api('GET', `trusted-issuers/${String(id)}`)).body;
  expect([links, lifetime]).toEqual([body['links'], 299]);
});

test('rules for claims with large maps are taken, shown, and taken again (security R103, federation 7)', async () => {
  const path = `clients/${client.clientId}`;
  const rule = (claim: string, count: number) => ({ claim, from: 'groups', map: entries(count), into: ['id_token'] });
  const claim_rules = times(20, (index) => rule(`claim${index}`, 200));
  const changed = await api('PATCH', path, { claim_rules });
  expect(changed, JSON.stringify(changed.body['error_description'])).toMatchObject({ status: 200 });
  const shown = (await api('GET', path)).body['claim_rules'];
  expect(shown).toEqual(claim_rules);
  expect((await api('PATCH', path, { claim_rules: shown })).status).toBe(200);
  const beyond = await api('PATCH', path, { claim_rules: [rule('claim', 201)] });
  expect(beyond.status).toBe(400);
  expect(beyond.body['error_description']).toMatch(/^claim_rules/);
});

interface Schema {
  type?: string;
  anyOf?: Schema[];
  items?: Schema;
  maxItems?: number;
  properties?: Record<string, Schema>;
}

/** The levels and the members that a schema can hold at most, as far as it says so: of an open object only the members that it names. */
function heldBy({ type, anyOf, items, maxItems = 1, properties = {} }: Schema): { depth: number; members: number } {
  const [all, many] = [Object.values(properties).map(heldBy), (anyOf ?? []).map(heldBy)];
  const most = (of: number[]) => Math.max(0, ...of);
  if (anyOf) return { depth: most(many.map(({ depth }) => depth)), members: most(many.map(({ members }) => members)) };
  if (type === 'array') {
    const { depth, members } = heldBy(items ?? {});
    return { depth: 1 + depth, members: maxItems * members };
  }
  if (type !== 'object') return { depth: 0, members: 0 };
  return {
    depth: 1 + most(all.map(({ depth }) => depth)),
    members: all.reduce((sum, { members }) => sum + 1 + members, 0),
  };
}

test('every operation takes the levels and members that its schema allows (security R103)', () => {
  const tooSmall = allOperations().flatMap((one) => {
    const schema = takesBody(one) ? (one.documentedInput ?? one.input?.({ passwordMinLength: 8 })) : undefined;
    if (!schema) return [];
    const held = heldBy(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema);
    const { depth, members } = one.json ?? usualJson;
    return held.depth > depth || held.members > members ? [`${one.method} ${one.path}: ${JSON.stringify(held)}`] : [];
  });
  expect(tooSmall).toEqual([]);
});
