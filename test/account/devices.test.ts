// The page of the sessions lists the devices that a user allowed with a code, and signs one out.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decide, deviceCodes, deviceMetadata, poll } from '../helpers/device.ts';
import { refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, DEVICE_GRANT: 'on' } });
  client = await service.createClient(deviceMetadata);
});
afterAll(() => service?.stop());

async function signedIn(user: TestUser): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
}
async function connect(agent: UserAgent, scope: string) {
  const codes = await deviceCodes(service.issuer, client, { scope });
  await decide(agent, codes);
  return (await poll(service.issuer, client, codes)).body as Record<string, string>;
}
const page = (agent: UserAgent) => agent.get('/account/sessions');
const devicesOn = ({ body }: { body: string }) =>
  [...body.matchAll(/name="device" value="(\d+)" aria-label="([^"]*)"/g)].map(([, id, label]) => ({ id: id!, label }));

test('a device is listed by the name of its application, and signing it out ends its tokens at once, on every instance (protocols 6.1)', async () => {
  const user = await service.createUser();
  const agent = await signedIn(user);
  expect(devicesOn(await page(agent))).toEqual([]);
  const first = await connect(agent, 'openid offline_access');
  const second = await connect(agent, 'openid');
  const listed = devicesOn(await page(agent));
  expect(listed.map(({ label }) => label)).toEqual(Array(2).fill('Sign out: Living Room TV'));
  const csrf = hiddenFields((await page(agent)).body)['csrf']!;
  const ended = await agent.post('/account/sessions', { csrf, device: listed[1]!.id });
  expect(ended.location).toBe(`${service.issuer}/account/sessions?done=device-ended`);
  expect((await userinfo(service.instances[1]!, first['access_token']!)).status).toBe(401);
  expect((await refresh(service.instances[1]!, client, first['refresh_token']!)).status).toBe(400);
  expect((await userinfo(service.instances[1]!, second['access_token']!)).status).toBe(200);
  expect(devicesOn(await page(agent))).toEqual([listed[0]]);
  const events = await service.database.sql(
    `SELECT actor, client_id FROM audit_events WHERE sub = $1 AND type = 'client_session.ended'`,
    [user.sub],
  );
  expect(events).toEqual([{ actor: user.sub, client_id: client.clientId }]);
});

test('a device with offline access stays listed after the session that allowed it, another one goes with it (protocols 6.1)', async () => {
  const user = await service.createUser();
  const agent = await signedIn(user);
  await connect(agent, 'openid');
  await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
  const again = await signedIn(user);
  expect(devicesOn(await page(again))).toEqual([]);
  await connect(again, 'openid offline_access');
  await again.submit(await again.get('/logout'), { decision: 'sign-out' });
  expect(devicesOn(await page(await signedIn(user)))).toHaveLength(1);
});

test('a user cannot sign out the device of another, or a browser’s part in a session, by its id (security R55)', async () => {
  const [owner, stranger] = [await service.createUser(), await service.createUser()];
  const agent = await signedIn(owner);
  const tokens = await connect(agent, 'openid');
  const { id } = devicesOn(await page(agent))[0]!;
  const other = await signedIn(stranger);
  const csrf = hiddenFields((await page(other)).body)['csrf']!;
  expect((await other.post('/account/sessions', { csrf, device: id })).location).toBe(
    `${service.issuer}/account/sessions`,
  );
  for (const device of ['x', '-1', '9'.repeat(30)])
    expect((await other.post('/account/sessions', { csrf, device })).status).toBe(400);
  expect((await userinfo(service.issuer, tokens['access_token']!)).status).toBe(200);
});
