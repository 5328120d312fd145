// Plants a protocol beside OAuth: its value, its line in the list, and its endpoint. The pages of a sign-in carry its requests unchanged.
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { InteractionFlow, RelyingParty, VerifiedRequest } from '../../src/interaction/relying-party.ts';
import { OAuthError, ResponseError } from '../../src/oauth/errors.ts';
import { browserEndpoints } from '../../src/protocol/protocol.ts';
import { relyingParties, type RelyingPartyDependencies } from '../../src/protocol/relying-parties.ts';
import { singleValued } from '../../src/server/parameters.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import { plant } from './planted.ts';

/** What the client of the planted protocol gets: `status=ok` with the user's name, or a status of its own for each error. */
class Refused extends ResponseError {
  readonly verified: VerifiedRequest;
  readonly status: string;
  constructor(verified: VerifiedRequest, status: string) {
    super(status);
    this.verified = verified;
    this.status = status;
  }
}
const answer = ({ target }: VerifiedRequest, parameters: Record<string, string>) =>
  `${target.redirectUri}?${new URLSearchParams(parameters).toString()}`;

const example = ({ clients, store }: RelyingPartyDependencies): RelyingParty => ({
  endpoints: ['example'],
  async verify({ parameters: { client_id: id = '', redirect_uri: uri = '', prompt, ui_locales: uiLocales }, problem }) {
    const client = await clients.find(id, ({ metadata }) => metadata.redirect_uris.includes(uri));
    if (!client?.metadata.redirect_uris.includes(uri)) throw new OAuthError('invalid_request', 'an unknown client');
    const verified: VerifiedRequest = {
      client,
      target: { redirectUri: uri, delivery: 'query' },
      registeredUri: uri,
      prompts: prompt === undefined ? [] : [prompt],
      uiLocales,
      error: undefined,
      scope: ['email'],
      claims: { beside: [] },
      subjects: [],
      acr: { values: [], essential: false },
      needsAuthTime: false,
      maxAge: undefined,
      targets: [],
    };
    if (problem) verified.error = new Refused(verified, `error:${problem.code}`);
    return verified;
  },
  async respond(_request, reply, verified, { user }, { idHash }) {
    if (idHash && !(await store.authorizationRequests.delete(idHash)))
      throw new OAuthError('conflict', 'answered', 409);
    reply.redirect(answer(verified, { status: 'ok', name: user.username }), 302);
    return true;
  },
  errorOf: (verified, code) => new Refused(verified, `error:${code}`),
  async refuse(_request, reply, error) {
    if (!(error instanceof Refused)) return false;
    reply.redirect(answer(error.verified, { status: error.status }), 302);
    return true;
  },
});

async function exampleEndpoint(app: FastifyInstance, { flow }: { flow: InteractionFlow }): Promise<void> {
  app.setErrorHandler(flow.errors);
  app.get('/example', (request, reply) => {
    const parameters = singleValued(request.query);
    return flow.begin(request, reply, { endpoint: 'example', parameters, problem: undefined });
  });
}

let service: TestService;
let client: TestClient;
let user: TestUser;
plant(relyingParties, example);
plant(browserEndpoints as unknown[], exampleEndpoint);
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  client = await service.createClient({ scope: 'openid email' });
  user = await service.createUser();
});
afterAll(() => service?.stop());

const begin = async (agent: UserAgent, more: Record<string, string> = {}): Promise<Page> => {
  const sent = { client_id: client.clientId, redirect_uri: client.redirectUri, ...more };
  return agent.follow(await agent.get(`/example?${new URLSearchParams(sent).toString()}`));
};
const statusOf = (page: Page) => responseParameters(page)['status'];

test('the pages of sign-in and consent carry a request of a planted protocol to its own response (architecture, extension points)', async () => {
  const agent = new UserAgent(service);
  const login = await begin(agent, { ui_locales: 'de' });
  expect(login).toMatchObject({ status: 200, body: expect.stringMatching(/lang="de"[\s\S]*id="password"/) });
  const consent = await agent.signIn(user, login);
  expect(consent.body).toContain('id="allow"');
  const done = await agent.submit(consent, { decision: 'allow' });
  expect(done.location).toMatch(client.redirectUri);
  expect(responseParameters(done)).toEqual({ status: 'ok', name: user.username });
  // the session and the grant are those of every protocol
  expect(statusOf(await begin(agent))).toBe('ok');
  expect(statusOf(await begin(agent, { prompt: 'none' }))).toBe('ok');
});

test('the client of a planted protocol gets its errors in the terms of that protocol, and an unknown one gets nothing (architecture, extension points)', async () => {
  const agent = new UserAgent(service);
  expect(statusOf(await begin(agent, { prompt: 'none' }))).toBe('error:login_required');
  const consent = await agent.signIn(user, await begin(agent, { prompt: 'consent' }));
  expect(statusOf(await agent.submit(consent, { decision: 'deny' }))).toBe('error:access_denied');
  const elsewhere = await begin(agent, { redirect_uri: 'https://elsewhere.example/' });
  expect(elsewhere.status).toBe(400);
  expect(elsewhere.location).toBeUndefined();
});

test('a user who leaves the sign-in page sends the error of a planted protocol (architecture, extension points)', async () => {
  const agent = new UserAgent(service);
  const page = await begin(agent);
  const form = page.body.slice(page.body.indexOf('action="/login/cancel"') - 200);
  const cancelled = await agent.submit({ ...page, body: form.slice(form.indexOf('<form')) }, {});
  expect(statusOf(cancelled)).toBe('error:access_denied');
});

test('a request that no protocol here serves is answered by a page, and OAuth requests are answered as ever (architecture, extension points)', async () => {
  const agent = new UserAgent(service);
  const login = await begin(agent);
  await service.database.sql(`UPDATE authorization_requests SET endpoint = 'later' WHERE endpoint = 'example'`);
  const lost = await agent.signIn(user, login);
  expect(lost.location).toBeUndefined();
  expect(lost.status).toBe(400);
  const other = new UserAgent(service);
  expect(responseParameters(await other.authorize(client, user))).toHaveProperty('code');
  expect(
    responseParameters(await new UserAgent(service).get(authorizationUrl(service.issuer, client, { prompt: 'none' }))),
  ).toMatchObject({ error: 'login_required' });
});
