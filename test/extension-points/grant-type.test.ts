// Plants a grant type: its value, its line in the list of the token endpoint, and its name and words among those that clients register.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { invalidGrant } from '../../src/oauth/errors.ts';
import { documentMetadata } from '../../src/oauth/client-document.ts';
import { parseClientMetadata } from '../../src/oauth/client-metadata.ts';
import { grantTypes as registrableGrantTypes, type RegistrableGrantType } from '../../src/oauth/registrable-values.ts';
import type { GrantType } from '../../src/protocol/token/grant-type.ts';
import { grantTypes } from '../../src/protocol/token/grants/grant-types.ts';
import { call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';
import { approvalPage, discovery, createInConsole, plant, startWithWords } from './planted.ts';

const name = 'urn:example:grant-type:voucher';
const words = 'It redeems a voucher';

const voucherGrant = (): GrantType<{ voucher: string }> => ({
  name,
  asksNetwork: false,
  parameters: z.object({ voucher: z.string() }),
  async authorize({ voucher }) {
    if (voucher !== 'good') return { refusal: invalidGrant('the voucher is not known') };
    return { scope: ['admin'], isScopeNamed: false, members: { vouchers_left: 2, token_type: 'another' } };
  },
});

/** As registrations know it: for documents and FAPI 2.0, not for public clients, and off where devices can sign in. */
const voucher: RegistrableGrantType = {
  name,
  inDocuments: true,
  inFapi2: true,
  isOffered: ({ deviceGrant }) => !deviceGrant,
  endpoints: ['check_session_iframe'],
};

let service: TestService;
let client: TestClient;
plant(grantTypes, voucherGrant);
plant(registrableGrantTypes, voucher);
beforeAll(async () => {
  service = await startWithWords(`registration.grant.${name}`, { en: words });
  client = await service.createClient({ redirect_uris: [], grant_types: [name] });
});
afterAll(() => service?.stop());

const redeem = (by: TestClient, parameters: Record<string, string>) =>
  tokenRequest(service.issuer, by, { grant_type: name, ...parameters });

test('a client gets working tokens by a planted grant type, and each only for its resource (architecture, extension points)', async () => {
  const { status, body } = await redeem(client, { voucher: 'good' });
  expect({ status, body }).toMatchObject({ status: 200, body: { scope: 'admin', vouchers_left: 2 } });
  // a member of its own replaces none of the standard
  expect(body['token_type']).toBe('Bearer');
  const path = `${service.issuer}/admin/api/clients`;
  expect((await call(path, { token: String(body['access_token']) })).status).toBe(200);
  const elsewhere = await redeem(client, { voucher: 'good', resource: `${service.issuer}/user/info` });
  expect((await call(path, { token: String(elsewhere.body['access_token']) })).status).toBe(401);
});

test('the token endpoint applies the rules of all grants to the planted one: its parameters, the registration and the resource (architecture, extension points)', async () => {
  const error = async (by: TestClient, parameters: Record<string, string>) => {
    const { status, body } = await redeem(by, parameters);
    return [status, body['error'], body['error_description']];
  };
  expect(await error(client, {})).toEqual([400, 'invalid_request', 'the parameter voucher is missing']);
  expect(await error(client, { voucher: 'bad' })).toEqual([400, 'invalid_grant', 'the voucher is not known']);
  const twice = 'https://a.example https://b.example';
  expect((await error(client, { voucher: 'good', resource: twice })).slice(0, 2)).toEqual([400, 'invalid_target']);
  const other = await service.createClient();
  expect((await error(other, { voucher: 'good' })).slice(0, 2)).toEqual([400, 'unauthorized_client']);
});

test('discovery lists the planted grant type, and a client registers it (architecture, extension points)', async () => {
  expect((await discovery(service))['grant_types_supported']).toContain(name);
  const body = { redirect_uris: ['https://rp.example.com/callback'], grant_types: ['authorization_code', name] };
  expect(await call(`${service.issuer}/register`, { body })).toMatchObject({
    status: 201,
    body: { grant_types: ['authorization_code', name] },
  });
});

test('an administrator reads the words of the planted grant type, and chooses it for a client in the console (architecture, extension points)', async () => {
  const { form, client: created } = await createInConsole(service, { grant_types: name });
  expect(form).toContain(words);
  expect(created.metadata.grant_types).toContain(name);
  expect(await approvalPage(service, { grant_types: ['authorization_code', name] })).toContain(words);
});

test('registration and documents of clients take a planted grant type by what its value allows (architecture, extension points)', () => {
  const redirect_uris = ['https://rp.example.com/callback'];
  const jwks_uri = 'https://rp.example.com/jwks';
  const parse = (grant: string, more: Record<string, unknown> = {}) =>
    parseClientMetadata({ redirect_uris, jwks_uri, grant_types: ['authorization_code', grant], ...more });
  expect(() => parse(name, { token_endpoint_auth_method: 'none' })).toThrow(`the grant type ${name}`);
  const profile = { token_endpoint_auth_method: 'private_key_jwt', fapi2: 'security' };
  expect(parse(name, profile).grant_types).toContain(name);
  expect(() => parse('implicit', profile)).toThrow(`client_credentials and ${name}`);
  const refresh = { redirect_uris: [], response_types: [], grant_types: [name, 'refresh_token'] };
  expect(() => parseClientMetadata(refresh)).toThrow('refresh_token');
  const id = 'https://rp.example.com/client';
  const read = (grant: string) => {
    const document = { client_id: id, redirect_uris, jwks_uri, token_endpoint_auth_method: 'private_key_jwt' };
    const grant_types = ['authorization_code', 'urn:example:other', grant];
    const settings = { issuer: 'https://id.example' };
    return documentMetadata(id, { ...document, grant_types }, { apiScopes: [], kept: undefined }, settings).grant_types;
  };
  expect(read(name)).toEqual(['authorization_code', name]);
  expect(() => read('implicit')).toThrow(`and ${name}, and not implicit`);
});

test('a public client gets nothing by a planted grant type that is not for it (architecture, extension points)', async () => {
  const open = await service.createClient({ token_endpoint_auth_method: 'none' });
  expect(await redeem({ ...open, clientSecret: undefined } as never, { voucher: 'good' })).toMatchObject({
    status: 401,
  });
});

test('a planted grant type that the settings switch off is nowhere offered, and comes back with the setting (architecture, extension points)', async () => {
  const off = await startTestService({ environment: { ...withoutLimits, DEVICE_GRANT: 'on' } });
  try {
    const document = await discovery(off);
    expect(document['grant_types_supported']).not.toContain(name);
    expect(document).not.toHaveProperty('check_session_iframe');
    expect(await discovery(service)).toHaveProperty('check_session_iframe');
    const registered = await off.createClient({ redirect_uris: [], grant_types: [name] });
    const request = { grant_type: name, voucher: 'good' };
    expect(await tokenRequest(off.issuer, registered, request)).toMatchObject({
      status: 400,
      body: { error: 'unsupported_grant_type' },
    });
    const body = { redirect_uris: ['https://rp.example.com/callback'], grant_types: ['authorization_code', name] };
    expect((await call(`${off.issuer}/register`, { body })).body['grant_types']).toEqual(['authorization_code']);
  } finally {
    await off.stop();
  }
});
