// Plants a grant type: its value, its line in the list of the token endpoint, and its name and words among those that clients register.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { invalidGrant } from '../../src/oauth/errors.ts';
import { grantTypes as registrableGrantTypes } from '../../src/oauth/registrable-values.ts';
import type { GrantType } from '../../src/protocol/token/grant-type.ts';
import { grantTypes } from '../../src/protocol/token/grants/grant-types.ts';
import { call } from '../helpers/grants.ts';
import type { TestClient, TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';
import { approvalPage, discovery, createInConsole, plant, startWithWords } from './planted.ts';

const name = 'urn:example:grant-type:voucher';
const words = 'It redeems a voucher';

const voucherGrant = (): GrantType<{ voucher: string }> => ({
  name,
  allowsPublic: false,
  asksNetwork: false,
  parameters: z.object({ voucher: z.string() }),
  async authorize({ voucher }) {
    if (voucher !== 'good') return { refusal: invalidGrant('the voucher is not known') };
    return { scope: ['admin'], isScopeNamed: false };
  },
});

let service: TestService;
let client: TestClient;
plant(grantTypes, voucherGrant);
plant(registrableGrantTypes, name);
beforeAll(async () => {
  service = await startWithWords(`registration.grant.${name}`, { en: words });
  client = await service.createClient({ redirect_uris: [], grant_types: [name] });
});
afterAll(() => service?.stop());

const redeem = (by: TestClient, parameters: Record<string, string>) =>
  tokenRequest(service.issuer, by, { grant_type: name, ...parameters });

test('a client gets working tokens by a planted grant type, and each only for its resource (architecture, extension points)', async () => {
  const { status, body } = await redeem(client, { voucher: 'good' });
  expect({ status, body }).toMatchObject({ status: 200, body: { token_type: 'Bearer', scope: 'admin' } });
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
