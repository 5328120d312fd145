// Ends what authorization details depend on between the consent of a user and each later step, on two instances over one database (RFC 9396).
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asDetails } from '../helpers/authorization-details.ts';
import {
  askUser,
  allowPolls,
  answer as answerRequest,
  cibaMetadata,
  grantSomething,
  poll as pollRequest,
} from '../helpers/ciba.ts';
import { decide, deviceCodes, deviceMetadata, poll } from '../helpers/device.ts';
import { exchange, exchangeMetadata, made } from '../helpers/exchange.ts';
import { adminToken, type Answer, call, obtainCode, redeem, refresh, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let token: string;
const elsewhere = 'https://elsewhere.example/';
const scopes = [{ value: 'ledger.read' }];
beforeAll(async () => {
  const environment = { ...withoutLimits, DEVICE_GRANT: 'on', CIBA: 'on' };
  service = await startTestService({ instances: 2, environment });
  token = await adminToken(service);
  await made(service, token, 'resources', { resource: elsewhere, name: 'Other', scopes });
});
afterAll(() => service?.stop());

const [one, two] = [() => service.instances[0]!, () => service.instances[1]!];
const change = (path: string, body: object) => made(service, token, path, body, 'PATCH');
const off = { status: 'disabled' };
const detailsIn = ({ body }: Answer) => body['authorization_details'];

/** A user, a client for each way to details, a gateway that passes them on, and their type, of one round. */
let number = 0;
async function world() {
  const type = `type-${(number += 1)}`;
  const ledger = `https://ledger-${number}.example/`;
  const schema = { type: 'object', properties: { account: { type: 'string' } } };
  const text = { en: 'Read {account}' };
  const own = { authorization_details_types: [type] };
  const app = await service.createClient({
    ...own,
    scope: 'openid offline_access',
    grant_types: ['authorization_code', 'refresh_token'],
  });
  const device = await service.createClient({ ...deviceMetadata, ...own });
  const desk = await service.createClient({ ...cibaMetadata, ...own });
  const gateway = await service.createClient({ ...exchangeMetadata, ...own });
  await made(service, token, 'resources', {
    resource: ledger,
    name: 'Ledger',
    scopes,
    client_id: gateway.clientId,
    clients: 'approved',
  });
  await made(service, token, 'authorization-details-types', { type, schema, text, resources: [ledger] });
  await made(service, token, 'exchange-policies', {
    name: `details ${type}`,
    client_id: gateway.clientId,
    subject_clients: [app.clientId],
    resources: [ledger],
    scopes: ['ledger.read'],
    ...own,
  });
  return { app, device, desk, gateway, type, ledger, user: await service.createUser() };
}
type World = Awaited<ReturnType<typeof world>>;

const asked = ({ type, ledger }: World) => ({
  scope: 'openid offline_access ledger.read',
  resource: ledger,
  ...asDetails({ type, account: 'A' }),
});
const typeAt = ({ type }: World) => `authorization-details-types/${type}`;
const clients = ({ app, device, desk, gateway }: World) => [app, device, desk, gateway];

/** What ends: afterwards no token has the details, and after the last two there is no token at all. */
const ends: Record<string, (of: World) => Promise<unknown>> = {
  'the type is disabled': (of) => change(typeAt(of), off),
  'the type is deleted': (of) => call(`${service.issuer}/admin/api/${typeAt(of)}`, { method: 'DELETE', token }),
  'the type is for another API': (of) => change(typeAt(of), { resources: [elsewhere] }),
  'the clients are no longer registered for the type': (of) =>
    Promise.all(clients(of).map(({ clientId }) => change(`clients/${clientId}`, { authorization_details_types: [] }))),
  'the user is disabled': ({ user }) => change(`users/${user.sub}`, off),
  'the clients are disabled': (of) =>
    Promise.all(clients(of).map(({ clientId }) => change(`clients/${clientId}`, off))),
};
const whole = ['the user is disabled', 'the clients are disabled'];

async function signedIn({ user }: World): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
}

type End = () => Promise<unknown>;
/** What each step needs, and the step on the other instance after the end; undefined where the client gets no code. */
const steps: Record<string, (of: World, end: End) => Promise<Answer | undefined>> = {
  async 'the decision on the consent page'(of, end) {
    const agent = await signedIn(of);
    const url = new URL(authorizationUrl(service.issuer, of.app, asked(of)));
    const page = await agent.follow(await agent.get(url.pathname + url.search));
    expect(page.url).toContain('/consent');
    await end();
    const decided = await agent.post('/consent', { ...hiddenFields(page.body), decision: 'allow' });
    const { location } = decided.status < 400 ? await agent.follow(decided) : decided;
    const code = location === undefined ? undefined : new URL(location).searchParams.get('code');
    return code ? redeem(two(), of.app, code) : undefined;
  },
  async 'the redemption of a code'(of, end) {
    const code = await obtainCode(service, of.app, of.user, asked(of));
    await end();
    return redeem(two(), of.app, code);
  },
  async 'a refresh'(of, end) {
    const { body } = await redeem(one(), of.app, await obtainCode(service, of.app, of.user, asked(of)));
    await end();
    return refresh(two(), of.app, String(body['refresh_token']));
  },
  async 'an exchange'(of, end) {
    const { body } = await redeem(one(), of.app, await obtainCode(service, of.app, of.user, asked(of)));
    await end();
    return exchange(two(), of.gateway, String(body['access_token']));
  },
  async 'the poll of a device'(of, end) {
    const codes = await deviceCodes(one(), of.device, asked(of));
    await decide(await signedIn(of), codes);
    await end();
    return poll(two(), of.device, codes);
  },
  async 'the poll of a backchannel request'(of, end) {
    await grantSomething(service, of.desk, of.user.sub);
    const { body } = await askUser(one(), of.desk, { ...asked(of), login_hint: of.user.username });
    // an answer needs a sign-in after the request
    await answerRequest(await signedIn(of));
    await end();
    await allowPolls(service);
    return pollRequest(two(), of.desk, String(body['auth_req_id']));
  },
};

const issuedWith = async ({ type }: World) => {
  const stored = 'SELECT count(*)::int AS n FROM access_tokens WHERE details::text LIKE $1';
  return (await service.database.sql<{ n: number }>(stored, [`%"${type}"%`]))[0]!.n;
};

test.each(Object.entries(steps))('%s gives the details while all is as it was (RFC 9396 7)', async (_, run) => {
  const of = await world();
  const good = await run(of, () => Promise.resolve());
  expect(good, JSON.stringify(good?.body)).toMatchObject({ status: 200 });
  expect(detailsIn(good!)).toEqual([{ type: of.type, account: 'A', id: expect.any(String) }]);
});

test.each(
  Object.entries(ends).flatMap(([what, end]) => Object.entries(steps).map(([step, run]) => ({ what, end, step, run }))),
)('once $what, $step gives no details on another instance (security R133, R142)', async ({ what, end, run }) => {
  const of = await world();
  let before = 0;
  const answered = await run(of, async () => {
    await end(of);
    before = await issuedWith(of);
  });
  if (answered) expect(detailsIn(answered)).toBeUndefined();
  if (answered && whole.includes(what)) expect(answered.status).toBeGreaterThanOrEqual(400);
  expect(await issuedWith(of)).toBe(before);
});

test('what a user allowed stays as it was when the words and the schema of its type change (RFC 9396 7, security R142)', async () => {
  const of = await world();
  const { body } = await redeem(one(), of.app, await obtainCode(service, of.app, of.user, asked(of)));
  await change(typeAt(of), { schema: { type: 'object', properties: {} }, text: { en: 'Read all' } });
  expect(detailsIn(await refresh(two(), of.app, String(body['refresh_token'])))).toEqual(body['authorization_details']);
  // a new request has to follow the new schema
  const url = new URL(authorizationUrl(service.issuer, of.app, { ...asked(of), prompt: 'none' }));
  const page = await (await signedIn(of)).get(url.pathname + url.search);
  expect(responseParameters(page)).toMatchObject({ error: 'invalid_authorization_details' });
});
