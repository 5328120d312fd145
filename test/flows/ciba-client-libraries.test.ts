// Other people's libraries ask users by backchannel requests without a change: openid-client by poll, and with authorization details.
import * as openid from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answer, cibaMetadata, grantSomething } from '../helpers/ciba.ts';
import { made } from '../helpers/exchange.ts';
import { adminToken, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
let user: TestUser;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, CIBA: 'on' } });
  await made(service, await adminToken(service), 'authorization-details-types', {
    type: 'payment',
    schema: {
      type: 'object',
      properties: { amount: { type: 'string' }, creditor: { type: 'string' } },
      required: ['amount', 'creditor'],
    },
    text: { en: 'Pay {amount} to {creditor}' },
  });
  client = await service.createClient({ ...cibaMetadata, authorization_details_types: ['payment'] });
  user = await service.createUser({ claims: { name: 'Ada Lovelace' } });
  await grantSomething(service, client, user.sub);
});
afterAll(() => service?.stop());

const discover = () =>
  openid.discovery(new URL(service.issuer), client.clientId, undefined, openid.ClientSecretBasic(client.clientSecret), {
    execute: [openid.allowInsecureRequests],
  });

async function decide(decision: 'allow' | 'deny'): Promise<string> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  const { body } = await agent.get('/account/requests');
  await answer(agent, decision);
  return body;
}

test('openid-client asks, polls until the user allows it, and refreshes (OpenID Connect CIBA 7, 10)', async () => {
  const config = await discover();
  const asked = await openid.initiateBackchannelAuthentication(config, {
    scope: 'openid profile offline_access',
    login_hint: user.username,
    binding_message: 'Order 4711',
  });
  expect(asked).toMatchObject({ expires_in: 120, interval: 5 });
  const polling = openid.pollBackchannelAuthenticationGrant(config, { ...asked, interval: 1 });
  await decide('allow');
  const tokens = await polling;
  expect(tokens.claims()).toMatchObject({ sub: user.sub });
  expect(await openid.fetchUserInfo(config, tokens.access_token, user.sub)).toMatchObject({ name: 'Ada Lovelace' });
  expect((await openid.refreshTokenGrant(config, tokens.refresh_token!)).claims()).toMatchObject({ sub: user.sub });
});

test('openid-client reads a denial, and the refusal of a hint (OpenID Connect CIBA 11, 13)', async () => {
  const config = await discover();
  const asked = await openid.initiateBackchannelAuthentication(config, { scope: 'openid', login_hint: user.username });
  await decide('deny');
  const polling = openid.pollBackchannelAuthenticationGrant(config, { ...asked, interval: 0 });
  await expect(polling).rejects.toMatchObject({ error: 'access_denied' });
  const none = openid.initiateBackchannelAuthentication(config, { scope: 'openid' });
  await expect(none).rejects.toMatchObject({ error: 'invalid_request' });
});

test('a payment is shown in full in the account, and the tokens have exactly it (RFC 9396 7, security R142)', async () => {
  const config = await discover();
  const payment = { type: 'payment', amount: '12.50 EUR', creditor: 'Harbour' };
  const asked = await openid.initiateBackchannelAuthentication(config, {
    scope: 'openid',
    login_hint: user.username,
    authorization_details: JSON.stringify([payment]),
  });
  const page = await decide('allow');
  expect(page.replace(/<[^>]+>/g, '')).toContain('Pay 12.50 EUR to Harbour');
  const tokens = await openid.pollBackchannelAuthenticationGrant(config, { ...asked, interval: 0 });
  expect(tokens['authorization_details']).toEqual([{ ...payment, id: expect.any(String) }]);
  const other = JSON.stringify([{ ...payment, extra: 1 }]);
  const wrong = openid.initiateBackchannelAuthentication(config, {
    scope: 'openid',
    login_hint: user.username,
    authorization_details: other,
  });
  await expect(wrong).rejects.toMatchObject({ error: 'invalid_authorization_details' });
});
