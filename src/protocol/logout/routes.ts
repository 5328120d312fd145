// Serves GET|POST /logout: client-initiated logout, which always asks the user (RP-Initiated Logout 1.0, specification 4.3; security R66).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { onlyForms } from '../../server/form-body.ts';
import { logoutFrames } from '../../browser/front-channel-logout.ts';
import { accountView, clientView, type PageResponses } from '../../pages/page-response.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import type { Pages } from '../../pages/views/index.ts';
import { addressFacts } from '../../rules/clients/redirect-addresses.ts';
import { invalidRequest, OAuthError, type RefusalFacts } from '../../oauth/errors.ts';
import { withQuery } from '../../oauth/redirect-uri.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { noStore } from '../../server/errors.ts';
import type { UpstreamLogout } from '../../authenticators/connection/upstream-logout.ts';

const shape = z.object({
  id_token_hint: text(8192).optional(),
  post_logout_redirect_uri: text(2000).optional(),
  client_id: text(255).optional(),
  state: text(2048).optional(),
  ui_locales: text(200).optional(),
});
// characters: a form with parameters up to this length can be redirected to as an address
const maxAddress = 8000;
const answer = z.object({ csrf: text(100), decision: z.enum(['sign-out', 'stay']) });

const endPath = '/logout/ended';

/** Why a logout request cannot be answered. */
const problems = {
  hint: 'the id_token_hint is not an ID Token of this service, or not of the client that the request names',
  redirect: 'the post_logout_redirect_uri is not registered for the client',
  unnamed: 'the request has a post_logout_redirect_uri, and names no client',
};
type Problem = keyof typeof problems;

/** A logout request whose hint and redirect URI are verified. */
interface Verified {
  client: Client | undefined;
  redirectTo: string | undefined;
  problem: Problem | undefined;
  /** What an administrator has to know of it. */
  facts: RefusalFacts;
  uiLocales: string | undefined;
}

interface LogoutDependencies {
  config: Config;
  store: Pick<Store, 'transaction'>;
  clients: ClientCache;
  tokens: TokenService;
  sessions: BrowserSessions;
  pages: PageResponses;
  audit: AuditTrail;
  upstreamLogout: UpstreamLogout;
}

export async function logoutEndpoint(app: FastifyInstance, options: LogoutDependencies): Promise<void> {
  const { config, store, clients, tokens, sessions, pages, audit, upstreamLogout } = options;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get('/logout', (request, reply) => {
    onlyNavigation(request);
    return ask(request, reply, singleValued(request.query));
  });

  // where the form of the question leads: browsers check each redirect of a form, so that a page leads on to the client
  app.get(endPath, async (request, reply) => {
    onlyNavigation(request);
    const parameters = standardNames(singleValued(request.query));
    const verified = await verify(parameters);
    if (verified.problem) return showProblem(request, reply, verified, verified.problem);
    const onward = addressOf('/logout', parameters);
    // another tab has signed in
    if (await sessions.find(request, reply)) return pages.redirect(reply, onward);
    return showEnd(request, reply, verified, { leaveUri: onward });
  });

  app.post('/logout', async (request, reply) => {
    const body = singleValued(request.body);
    const query = singleValued(request.query);
    if (body['csrf'] === undefined && body['decision'] === undefined) {
      onlyNavigation(request);
      if (Object.keys(query).some((name) => name in body)) throw invalidRequest('a parameter is repeated');
      const parameters = { ...query, ...body };
      // the browser sends no session cookie with a form of another site (SameSite=Lax), but sends it with a GET
      const address = addressOf('/logout', parameters);
      if (!sessions.carriesSession(request) && address.length < maxAddress) return pages.redirect(reply, address);
      return ask(request, reply, parameters);
    }
    return decide(request, reply, body);
  });

  async function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    sent: Record<string, string>,
  ): Promise<FastifyReply> {
    const parameters = standardNames(sent);
    const verified = await verify(parameters);
    if (verified.problem) return showProblem(request, reply, verified, verified.problem);
    const session = await sessions.find(request, reply);
    if (!session) return finish(request, reply, verified);
    return showQuestion(request, reply, verified, session, parameters);
  }

  async function decide(
    request: FastifyRequest,
    reply: FastifyReply,
    body: Record<string, string>,
  ): Promise<FastifyReply> {
    const { csrf, decision } = readParameters(answer, body);
    const parameters = standardNames(body);
    const verified = await verify(parameters);
    if (verified.problem) return showProblem(request, reply, verified, verified.problem);
    const session = await sessions.find(request, reply);
    // a form of another site is refused even without the session cookie: no redirect may say that the session is over (security R66)
    const own = sessions.isOwnForm(request, csrf, { action: '/logout', session });
    // the user submitted the form twice
    if (!session) return leave(request, reply, verified, parameters);
    if (!own) {
      return showQuestion(request, reply, verified, session, parameters, 'tampered');
    }
    if (decision === 'stay') return showEnd(request, reply, verified, { stayed: true });
    // ending the session stores the back-channel logouts
    const { frames, stillOpen } = await store.transaction(async (repositories) => {
      const uris = await logoutFrames(repositories, config.issuer, session);
      // they get no logout request (federation 9)
      const names = await repositories.samlSessions.namesIn(session.id);
      await repositories.sessions.end(session.id);
      await audit(
        request,
        {
          type: 'user.signed_out',
          outcome: 'success',
          actor: session.user.sub,
          sub: session.user.sub,
          clientId: verified.client?.clientId,
        },
        repositories,
      );
      return { frames: uris, stillOpen: names };
    });
    sessions.forget(reply);
    // the session here is over, whatever the connection does (federation F33)
    const upstream = await upstreamLogout.begin(request, reply, session, verified.redirectTo);
    if (upstream === undefined && frames.length === 0) return leave(request, reply, verified, parameters, stillOpen);
    const continueUri = upstream ?? verified.redirectTo;
    return showEnd(request, reply, verified, { frames, stillOpen, ...(continueUri !== undefined && { continueUri }) });
  }

  async function verify(parameters: Record<string, string>): Promise<Verified> {
    const { id_token_hint, post_logout_redirect_uri, client_id, state, ui_locales } = readParameters(shape, parameters);
    const hint = id_token_hint === undefined ? undefined : await tokens.readIdTokenHint(id_token_hint);
    const wrongHint =
      id_token_hint !== undefined && (!hint || (client_id !== undefined && client_id !== hint.clientId));
    const named = wrongHint ? undefined : (hint?.clientId ?? client_id);
    const client = named === undefined ? undefined : await clients.find(named);
    const known = client?.status === 'enabled' ? client : undefined;
    // compared exactly, and registered by the verified client (security R68)
    const registered =
      post_logout_redirect_uri !== undefined &&
      (known?.metadata.post_logout_redirect_uris ?? []).includes(post_logout_redirect_uri);
    const addressProblem =
      post_logout_redirect_uri === undefined || registered ? undefined : named === undefined ? 'unnamed' : 'redirect';
    return {
      client: known,
      redirectTo: registered
        ? withQuery(post_logout_redirect_uri, state === undefined ? [] : [['state', state]])
        : undefined,
      problem: wrongHint ? 'hint' : addressProblem,
      facts: addressFacts(
        { clientId: named ?? client_id, sent: post_logout_redirect_uri },
        known,
        known?.metadata.post_logout_redirect_uris,
      ),
      uiLocales: ui_locales,
    };
  }

  /** Answers a request of a browser without a session. */
  function finish(request: FastifyRequest, reply: FastifyReply, verified: Verified): FastifyReply {
    if (verified.redirectTo === undefined) return showEnd(request, reply, verified);
    return noStore(reply).redirect(verified.redirectTo, request.method === 'POST' ? 303 : 302);
  }

  /** Answers the form of the question, once the session is over. */
  function leave(
    request: FastifyRequest,
    reply: FastifyReply,
    verified: Verified,
    parameters: Record<string, string>,
    stillOpen: string[] = [],
  ): FastifyReply {
    const { client, redirectTo } = verified;
    if (client === undefined || redirectTo === undefined) return showEnd(request, reply, verified, { stillOpen });
    const address = addressOf(endPath, { ...parameters, client_id: client.clientId }, ['id_token_hint']);
    return address.length < maxAddress
      ? pages.redirect(reply, address)
      : showEnd(request, reply, verified, { continueUri: redirectTo });
  }

  async function showQuestion(
    request: FastifyRequest,
    reply: FastifyReply,
    verified: Verified,
    session: Session,
    parameters: Record<string, string>,
    problem?: 'tampered',
  ): Promise<FastifyReply> {
    const hidden: Record<string, string> = { csrf: sessions.formToken(request, reply, { action: '/logout', session }) };
    for (const name of ['id_token_hint', 'post_logout_redirect_uri', 'client_id', 'state', 'ui_locales']) {
      if (parameters[name] !== undefined) hidden[name] = parameters[name];
    }
    const data: Pages['logout'] = { account: accountView(session.user), form: { action: `/logout`, hidden } };
    if (verified.client) data.client = clientView(verified.client);
    if (problem) data.problem = problem;
    return pages.send(request, reply, 'logout', data, {
      status: problem ? 400 : 200,
      uiLocales: verified.uiLocales,
    });
  }

  /** Shows why a request cannot be answered; no session has ended. */
  async function showProblem(
    request: FastifyRequest,
    reply: FastifyReply,
    verified: Verified,
    problem: Problem,
  ): Promise<FastifyReply> {
    const refusal = new OAuthError('invalid_request', 'the logout request cannot be answered', 400, {
      cause: problems[problem],
      facts: verified.facts,
    });
    const data: Pages['error'] = { kind: `logout-${problem}`, reference: await pages.explain(request, refusal) };
    if (verified.client) data.client = clientView(verified.client);
    return pages.send(request, reply, 'error', data, { status: 400, uiLocales: verified.uiLocales });
  }

  function showEnd(
    request: FastifyRequest,
    reply: FastifyReply,
    verified: Verified,
    end: Partial<Pick<Pages['signed-out'], 'stayed' | 'frames' | 'stillOpen' | 'continueUri' | 'leaveUri'>> = {},
  ): FastifyReply {
    const data: Pages['signed-out'] = { stayed: false, accountUri: `/account`, ...end };
    if (verified.client) data.client = clientView(verified.client);
    return pages.send(request, reply, 'signed-out', data, { uiLocales: verified.uiLocales });
  }
}

/** An address of this endpoint, with the parameters of the request but not those of the form. */
function addressOf(path: string, parameters: Record<string, string>, leftOut: readonly string[] = []): string {
  const sent = Object.entries(parameters).filter(([name]) => !['csrf', 'decision', ...leftOut].includes(name));
  return `${path}?${new URLSearchParams(sent).toString()}`;
}

/**
 * Renames the specification's hyphenated parameters to the standard ones.
 * @throws OAuthError if a request sends both with different values
 */
function standardNames(sent: Record<string, string>): Record<string, string> {
  const parameters = { ...sent };
  for (const name of ['id_token_hint', 'post_logout_redirect_uri']) {
    const hyphenated = sent[name.replaceAll('_', '-')];
    if (hyphenated === undefined) continue;
    if (sent[name] !== undefined && sent[name] !== hyphenated)
      throw invalidRequest(`${name} was sent under two names with different values`);
    parameters[name] = hyphenated;
  }
  return parameters;
}
