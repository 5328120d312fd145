// Signs users of one Gatehouse in at another: by a pushed request, an answer that is posted, and a key of the connection's own.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leave, signInPage } from '../helpers/connections.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { createAdministrator, postFromElsewhere } from '../helpers/preset-connections.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

let upstream: TestService;
let service: TestService;

beforeAll(async () => {
  upstream = await startTestService();
  const { host } = new URL(upstream.issuer);
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: host } });
});
afterAll(async () => {
  await service?.stop();
  await upstream?.stop();
});

test('a user of one Gatehouse signs in at another, with the groups and the time of the sign-in there (federation 5)', async () => {
  const administrator = await createAdministrator(service);
  const settings = {
    issuer: upstream.issuer,
    client_id: 'not registered yet',
    scope: 'openid profile email groups',
    token_endpoint_auth_method: 'private_key_jwt',
    response_mode: 'form_post',
  };
  const body = {
    id: 'upstream',
    kind: 'oidc',
    display_name: 'Upstream',
    status: 'enabled',
    provisioning: 'on',
    settings,
  };
  expect((await administrator.create({ ...body, group_rules: [{ all: true, prefix: 'up-' }] })).status).toBe(201);
  // the key exists before the provider knows the client
  const jwks: unknown = await (await fetch(`${service.issuer}/connections/upstream/jwks`)).json();
  const client = await upstream.createClient(
    {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks,
      scope: 'openid profile email groups',

      redirect_uris: [`${service.issuer}/connections/upstream/callback`],
      require_pushed_authorization_requests: true,
    },
    { firstParty: true },
  );
  await administrator.change('upstream', { settings: { client_id: client.clientId } });
  const user = await upstream.createUser({
    username: 'ada',
    email: 'ada@third.example',
    emailVerified: true,
    groups: ['crew'],
  });

  const [here, there] = [new UserAgent(service), new UserAgent(upstream)];
  const left = await leave(here, await signInPage(here, 'upstream'), 'upstream');
  // the request was pushed, so that nothing of it is in the address
  expect(Object.fromEntries(new URL(left.location!).searchParams)).toEqual({
    client_id: client.clientId,
    request_uri: expect.stringMatching(/^urn:/),
  });
  const answer: Page = await there.signIn(user, await there.follow(await there.get(left.location!)));
  const posted = await postFromElsewhere(`${service.issuer}/connections/upstream/callback`, hiddenFields(answer.body));
  const done = await here.follow(await here.get(new URL(posted.headers.get('location')!, service.issuer).href));
  expect(done.url, done.body.slice(0, 2000)).toBe(`${service.issuer}/account`);
  const [link] = await service.database.sql<{ sub: string; issuer: string; subject: string }>(
    'SELECT sub, issuer, subject FROM linked_identities',
  );
  expect(link).toMatchObject({ issuer: upstream.issuer, subject: user.sub });
  expect(await service.store.users.find(link!.sub)).toMatchObject({
    username: 'ada',
    email: 'ada@third.example',
    emailVerified: false,
    groups: ['up-crew'],
  });
  // the sign-in there is a moment old, so that it is fresh here, too
  expect((await here.get('/account/authenticator')).status).toBe(200);
});
