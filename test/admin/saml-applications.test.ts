// Tests SAML applications for administrators: API, command, console and refusals.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { filledForm, openConsole } from '../helpers/console.ts';
import { createOfKind, credential } from '../helpers/created-client.ts';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { newKeyPair } from '../helpers/saml-application.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { UserAgent } from '../helpers/user-agent.ts';

const keys = newKeyPair();
const folder = mkdtempSync(join(tmpdir(), 'saml-'));
let service: TestService;
let token: string;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
  ({ agent } = await openConsole(service, await service.createUser({ admin: true })));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await service?.stop();
});

const create = (members: Record<string, unknown>) =>
  call(`${service.issuer}/admin/api/clients`, { token, body: { kind: 'saml', client_name: 'App', ...members } });
const least = (name: string) => ({ entity_id: `urn:${name}`, acs_uris: [`https://${name}.example/acs`] });
const bare = keys.certificate.replace(/-----[A-Z ]+-----|\s+/g, '');
const metadata = (name: string) => `<?xml version="1.0"?>
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="urn:${name}"><!-- a comment -->
<md:SPSSODescriptor AuthnRequestsSigned="true" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${bare}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://${name}.example/slo"/>
<md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact" Location="https://${name}.example/artifact" index="0"/>
<md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://${name}.example/acs" index="1"/>
<md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://${name}.example/default" index="2" isDefault="true"/>
</md:SPSSODescriptor></md:EntityDescriptor>`;
const described = (name: string) => ({
  kind: 'saml',
  entity_id: `urn:${name}`,
  acs_uris: [`https://${name}.example/default`, `https://${name}.example/acs`],
  slo_uri: `https://${name}.example/slo`,
  require_signed_requests: true,
  certificates: [expect.stringContaining('BEGIN CERTIFICATE')],
});

test('an application is created from its metadata by the HTTP API, by a command and in the console (federation 9)', async () => {
  expect(await create({ saml_metadata: metadata('api') })).toMatchObject({ status: 201, body: described('api') });
  const file = join(folder, 'sp.xml');
  writeFileSync(file, metadata('command'));
  const args = ['client', 'create', '--kind', 'saml', '--name', 'App', '--saml-metadata-file', file, '--json'];
  expect(JSON.parse((await runCommand(service, args)).stdout)).toMatchObject(described('command'));
  writeFileSync(file, metadata('operator'));
  const { stdout } = await runCommand(service, args.slice(0, -1));
  // the values that the application asks for, and no word of a secret that it does not have
  for (const value of ['/saml/metadata', '/saml/sso']) expect(stdout).toContain(`${service.issuer}${value}\n`);
  expect(stdout).not.toMatch(/secret/i);
  const page = await createOfKind(agent, 'saml', { client_name: 'Wiki', saml_metadata: metadata('console') });
  expect(page.status).toBe(200);
  // a long address can break after a slash
  expect(page.body.replaceAll('<wbr>', '')).toContain(`${service.issuer}/saml/metadata`);
  expect(page.body).toContain('BEGIN CERTIFICATE');
  const made = await service.store.clients.find(credential(page, 'client_id')!);
  expect(made).toMatchObject({ kind: 'saml', entityId: 'urn:console', requireSignedRequests: true });
});

test('an application is created from fields, with what a preset sets, and the form that edits it has its fields only (federation 9)', async () => {
  const fields = { entity_id: 'urn:typed', acs_uris: 'https://typed.example/acs', certificates: keys.certificate };
  const page = await createOfKind(agent, 'saml', { client_name: 'Typed', saml_preset: 'atlassian', ...fields });
  const id = credential(page, 'client_id')!;
  expect(await service.store.clients.find(id)).toMatchObject({
    nameId: 'email',
    certificates: [keys.certificate],
    claimRules: [{ into: ['saml'] }, { into: ['saml'] }],
  });
  const path = `/admin/clients/${id}/edit`;
  const form = await agent.get(path);
  expect(form.body).not.toContain('name="redirect_uris"');
  expect(form.body).not.toContain('name="grant_types');
  const saved = await agent.post(path, { ...filledForm(form), name_id: 'username', idp_initiated: 'true' });
  expect(saved.location).toContain(`/admin/clients/${id}`);
  const changed = (await service.store.clients.find(id))!;
  expect(changed).toMatchObject({
    nameId: 'username',
    idpInitiated: true,
    entityId: 'urn:typed',
    claimRules: [{}, {}],
  });
  const shown = await agent.get(`/admin/clients/${id}`);
  expect(shown.body.replaceAll('<wbr>', '')).toContain(`/saml/start/${id}`);
  expect((await agent.get(`/admin/clients/${(await service.createClient()).clientId}/edit`)).body).not.toContain(
    'name="entity_id"',
  );
  expect(await create({ saml_preset: 'aws' })).toMatchObject({
    status: 201,
    body: {
      entity_id: 'urn:amazon:webservices',
      idp_initiated: true,
      acs_uris: ['https://signin.aws.amazon.com/saml'],
    },
  });
});

test.each<[string, Record<string, unknown>, string]>([
  ['no entity ID', { acs_uris: ['https://x.example/acs'] }, 'a SAML application needs entity_id and acs_uris'],
  ['no address', { entity_id: 'urn:x' }, 'a SAML application needs entity_id and acs_uris'],
  ['an address without https', { ...least('x'), acs_uris: ['http://x.example/acs'] }, 'must be an https URL'],
  ['an address of a script', { ...least('x'), acs_uris: ['javascript:alert(1)'] }, 'must be an https URL'],
  ['a certificate that is none', { ...least('x'), certificates: ['x'] }, 'must be a certificate (PEM)'],
  ['an unknown NameID', { ...least('x'), name_id: 'transient' }, 'name_id must be persistent'],
  ['signatures without a key', { ...least('x'), require_signed_requests: true }, 'require_signed_requests needs'],
  ['a logout address without a key', { ...least('x'), slo_uri: 'https://x.example/slo' }, 'slo_uri needs'],
  [
    'a grant type',
    {
      ...least('x'),
      grant_types: ['authorization_code'],
      response_types: ['code'],
      redirect_uris: ['https://x.example/cb'],
    },
    'a SAML application uses no grant types',
  ],
  ['metadata that are no XML', { saml_metadata: 'x' }, 'saml_metadata is not the metadata of one SAML application'],
  ['metadata of another kind', { saml_metadata: metadata('x').replaceAll('SPSSO', 'IDPSSO') }, 'is not the metadata'],
  [
    'metadata with a DOCTYPE',
    { saml_metadata: metadata('x').replace('<md:E', '<!DOCTYPE x><md:E') },
    'is not the metadata',
  ],
  ['an inward metadata address', { saml_metadata_uri: 'https://127.0.0.1/metadata' }, 'the metadata could not be read'],
  [
    'plain http for metadata',
    { saml_metadata_uri: 'http://x.example/metadata' },
    'saml_metadata_uri must be an https URL',
  ],
])('an application with %s is refused (federation F44)', async (_, members, sentence) => {
  const { status, body } = await create(members);
  expect({ status, body }).toMatchObject({
    status: 400,
    body: { error_description: expect.stringContaining(sentence) },
  });
});

test('an entity ID belongs to one application, and clients of OAuth have no member of SAML (federation 9)', async () => {
  expect(await create(least('once'))).toMatchObject({ status: 201 });
  expect(await create(least('once'))).toMatchObject({ status: 409 });
  const oauth = await call(`${service.issuer}/admin/api/clients`, {
    token,
    body: { kind: 'web', redirect_uris: ['https://x.example/cb'], entity_id: 'urn:other' },
  });
  expect(oauth).toMatchObject({ status: 400, body: { error_description: 'entity_id is for SAML applications only' } });
  const { clientId } = await service.createClient();
  const path = `${service.issuer}/admin/api/clients/${clientId}`;
  expect(await call(path, { method: 'PATCH', token, body: { idp_initiated: true } })).toMatchObject({ status: 400 });
  expect((await call(path, { token })).body).not.toHaveProperty('entity_id');
});

test('a SAML application gets nothing at the endpoints of OAuth (federation 9)', async () => {
  const { body } = await create(least('oauth'));
  const id = String(body['client_id']);
  const form = { grant_type: 'client_credentials', client_id: id };
  const answer = await fetch(`${service.issuer}/token`, { method: 'POST', body: new URLSearchParams(form) });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  const query = new URLSearchParams({
    client_id: id,
    response_type: 'code',
    redirect_uri: 'https://oauth.example/acs',
  });
  const page = await agent.get(`/authorize?${query.toString()}`);
  expect(page.location ?? '').not.toContain('oauth.example');
});

test('the page of keys changes the key of SAML in its three steps, each an event (federation 9)', async () => {
  await fetch(`${service.issuer}/saml/metadata`);
  const act = async (name: string) => {
    const { body } = await agent.get('/admin/keys');
    const section = body.slice(body.indexOf('id="saml"'));
    const form = [...section.matchAll(/<form[\s\S]*?<\/form>/g)]
      .map(([html]) => html)
      .find((html) => html.includes(`value="${name}"`))!;
    const fields = Object.fromEntries(
      [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, key, value]) => [key!, value!]),
    );
    return agent.post('/admin/keys/saml', fields);
  };
  for (const name of ['create', 'activate', 'delete'])
    expect((await act(name)).location).toContain(`done=saml-key-${name}d`);
  const events = await eventsOf(service, {});
  expect(events.filter(({ type }) => type.startsWith('saml_key.')).map(({ type }) => type)).toEqual([
    'saml_key.created',
    'saml_key.created',
    'saml_key.activated',
    'saml_key.deleted',
  ]);
  expect((await service.store.samlKeys.list()).map(({ activeAt }) => activeAt !== undefined)).toEqual([true]);
  const { stdout } = await runCommand(service, ['saml-keys', 'list']);
  expect(stdout).toContain('signing');
});

test('the preview of claims shows the attributes that an application would get (federation F67)', async () => {
  const rules = [{ claim: 'team', from: 'constant', value: 'crew', into: ['saml'] }];
  const { body } = await create({ ...least('preview'), claim_rules: rules });
  const user = await service.createUser();
  const page = await agent.get(`/admin/clients/${String(body['client_id'])}/claims?user=${user.username}`);
  expect(page.body).toContain('SAML attributes');
  expect(page.body).toContain('&quot;crew&quot;');
});
