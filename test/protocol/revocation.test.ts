// POST /revoke ends a single access token, or the whole client session by any of its other tokens.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
  client = await service.createClient({ uma_profile: true });
});
afterAll(() => service?.stop());

async function authorized() {
  const user = await service.createUser();
  const { code } = responseParameters(await new UserAgent(service).authorize(client, user));
  const { body } = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: code!,
    redirect_uri: client.redirectUri,
  });
  return { code: code!, ...(body as { access_token: string; refresh_token: string; client_session_handle: string }) };
}

function revoke(token: string, caller: TestClient | undefined = client, extra: Record<string, string> = {}) {
  return fetch(`${service.issuer}/revoke`, {
    method: 'POST',
    headers: caller ? { authorization: caller.basic } : {},
    body: new URLSearchParams({ token, ...extra }),
  });
}

/** Asks the second instance whether the token is active. */
async function active(token: string): Promise<boolean> {
  const response = await fetch(`${service.instances[1]}/introspect`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams({ token }),
  });
  return ((await response.json()) as { active: boolean }).active;
}

const refresh = (token: string) =>
  tokenRequest(service.instances[1]!, client, { grant_type: 'refresh_token', refresh_token: token });

test('the revocation of an access token ends that token only (RFC 7009 2.1, decisions section 4)', async () => {
  const tokens = await authorized();
  expect(await active(tokens.access_token)).toBe(true);
  const response = await revoke(tokens.access_token, client, { token_type_hint: 'refresh_token' });
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('');
  expect(await active(tokens.access_token)).toBe(false);
  expect(await active(tokens.client_session_handle)).toBe(true);
  expect((await refresh(tokens.refresh_token)).status).toBe(200);
});

test.each(['refresh_token', 'code', 'client_session_handle'] as const)(
  'the revocation of the %s ends the whole client session at once on every instance (decisions section 4)',
  async (name) => {
    const tokens = await authorized();
    expect((await revoke(tokens[name])).status).toBe(200);
    expect(await active(tokens.access_token)).toBe(false);
    expect(await active(tokens.code)).toBe(false);
    expect(await active(tokens.client_session_handle)).toBe(false);
    expect((await refresh(tokens.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
  },
);

test('an unknown token gives 200, and another client is refused without effect (RFC 7009 2.1, 2.2)', async () => {
  const tokens = await authorized();
  const otherClient = await service.createClient();
  for (const token of ['nonsense', client.registrationAccessToken, `${tokens.access_token}x`]) {
    expect((await revoke(token)).status).toBe(200);
  }
  const refused = await revoke(tokens.refresh_token, otherClient);
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: 'unauthorized_client' });
  expect(await active(tokens.access_token)).toBe(true);
});

test('a disabled client with correct credentials learns that it is disabled, and any other caller gets 401 (decisions section 2)', async () => {
  const disabled = await service.createClient({}, { status: 'disabled' });
  expect((await revoke('x', disabled)).status).toBe(403);
  expect((await revoke('x', { ...disabled, basic: `Basic ${btoa(`${disabled.clientId}:x`)}` })).status).toBe(401);
});

test('a refresh at the same time as the revocation leaves no active token (security R35)', async () => {
  for (let round = 0; round < 30; round++) {
    const tokens = await authorized();
    const [refreshed, revoked] = await Promise.all([refresh(tokens.refresh_token), revoke(tokens.refresh_token)]);
    expect(revoked.status).toBe(200);
    expect([200, 400]).toContain(refreshed.status);
    if (refreshed.status === 200) {
      expect(await active(refreshed.body['access_token'] as string)).toBe(false);
      expect((await refresh(refreshed.body['refresh_token'] as string)).status).toBe(400);
    }
  }
});
