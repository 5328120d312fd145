// Serves GET|POST /login and POST /login/passkey: signs a user in by password or passkey, and continues a pending request.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { onlyNavigation } from '../../browser/session.ts';
import { returnToOf } from '../../pages/return-to.ts';
import { onlyForms } from '../../server/form-body.ts';
import { accountView } from '../../pages/page-response.ts';
import { singleValued, text } from '../../server/parameters.ts';
import { maxCredentialLength } from '../../authenticators/passkey/passkeys.ts';
import { type PendingRequest, shownRequest } from '../../interaction/pending-request-view.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import type { FormView, LoginProblem, Pages } from '../../pages/views/index.ts';
import { OAuthError } from '../../oauth/errors.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Config } from '../../config.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { CheckPassword } from '../../authenticators/password/check.ts';
import type { Passkeys } from '../../authenticators/passkey/passkeys.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { SignIn } from '../../interaction/sign-in.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { AuditTrail } from '../../server/audit.ts';

const form = z.object({
  csrf: text(100).optional(),
  transaction: text(100).optional(),
  username: text(320).optional(),
  password: text(4096).optional(),
});

const passkeyForm = z.object({
  csrf: text(100).optional(),
  transaction: text(100).optional(),
  credential: text(maxCredentialLength).optional(),
});

/** The problems that the page's address can name: keys of the catalogue. */
const pageErrors: readonly string[] = ['client', 'request', 'expired'] satisfies LoginProblem[];

interface LoginDependencies {
  config: Config;
  clients: ClientCache;
  checkPassword: CheckPassword;
  passkeys: Passkeys;
  sessions: BrowserSessions;
  signIn: SignIn;
  pages: PageResponses;
  audit: AuditTrail;
}

export async function loginEndpoint(app: FastifyInstance, options: LoginDependencies): Promise<void> {
  const { config, checkPassword, passkeys, signIn, sessions, pages, audit } = options;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get('/login', async (request, reply) => {
    onlyNavigation(request);
    const { transaction, problem } = singleValued(request.query);
    if (problem !== undefined && pageErrors.includes(problem)) {
      return pages.send(request, reply, 'login', { problem: problem as LoginProblem }, { status: 400 });
    }
    const { session, pending: stored } = await sessions.findContext(request, reply, { transaction });
    const pending = stored && (await shownRequest(options.clients, stored));
    if (transaction !== undefined && !pending) {
      // the user can still sign in without the expired request
      return show(request, reply, undefined, undefined, session, { problem: 'expired', status: 400 });
    }
    return show(request, reply, transaction, pending, session, {});
  });

  app.post('/login', async (request, reply) => {
    const parsed = form.safeParse(singleValued(request.body));
    if (!parsed.success) throw new OAuthError('invalid_request', 'the form could not be read');
    const { transaction, username, password } = parsed.data;
    const submitted = await readSubmitted(request, reply, '/login', parsed.data);
    if (!submitted) return reply;
    const { session, pending } = submitted;
    const missing = (['username', 'password'] as const).filter((field) => parsed.data[field] === undefined);
    if (username === undefined || password === undefined) {
      return show(request, reply, transaction, pending, session, {
        problem: 'missing',
        fields: missing,
        username,
        status: 400,
      });
    }
    const answer = await checkPassword(request, username, password, { signingIn: true });
    if (answer.outcome === 'throttled' || answer.outcome === 'busy') {
      const { outcome: problem, wait } = answer;
      reply.header('retry-after', String(wait));
      const status = problem === 'busy' ? 503 : 429;
      return show(request, reply, transaction, pending, session, { problem, wait, username, status });
    }
    const clientId = pending?.clientId;
    const continuation = { previous: session, transaction, clientId, returnTo: returnToOf(request) };
    const next =
      answer.outcome === 'right'
        ? await signIn.proceed(
            request,
            reply,
            { ...answer.user, amr: ['pwd'], resetsFailures: answer.resetsFailures },
            continuation,
          )
        : undefined;
    if (next === undefined) {
      const sub = answer.outcome === 'wrong' ? answer.sub : answer.user.sub;
      await audit(request, { type: 'user.sign_in_failed', outcome: 'failure', sub, clientId });
      return show(request, reply, transaction, pending, session, { problem: 'credentials', username, status: 400 });
    }
    return pages.redirect(reply, next);
  });

  app.post('/login/passkey', async (request, reply) => {
    const parsed = passkeyForm.safeParse(singleValued(request.body));
    if (!parsed.success) throw new OAuthError('invalid_request', 'the form could not be read');
    const { transaction, credential = '' } = parsed.data;
    const submitted = await readSubmitted(request, reply, '/login/passkey', parsed.data);
    if (!submitted) return reply;
    const { session, pending } = submitted;
    const answer = await passkeys.check(request, credential, { purpose: 'sign-in' });
    if (answer.outcome === 'throttled') {
      const { outcome: problem, wait } = answer;
      reply.header('retry-after', String(wait));
      return show(request, reply, transaction, pending, session, { problem, wait, status: 429 });
    }
    if (answer.outcome === 'expired')
      return show(request, reply, transaction, pending, session, { problem: 'expired', status: 400 });
    const clientId = pending?.clientId;
    const continuation = { previous: session, transaction, clientId, returnTo: returnToOf(request) };
    const next =
      answer.outcome === 'right'
        ? await signIn.proceed(
            request,
            reply,
            { sub: answer.sub, passwordHash: undefined, amr: answer.amr },
            continuation,
          )
        : undefined;
    if (next === undefined) {
      const { sub, passkey } = answer;
      const detail = { passkey, reason: answer.outcome === 'wrong' ? answer.reason : 'disabled' };
      await audit(request, { type: 'user.sign_in_failed', outcome: 'failure', sub, clientId, detail });
      return show(request, reply, transaction, pending, session, { problem: 'passkey', status: 400 });
    }
    return pages.redirect(reply, next);
  });

  /** Reads a form with its sign-in context; undefined after the answer to a form that is too old or came from another site. */
  async function readSubmitted(
    request: FastifyRequest,
    reply: FastifyReply,
    action: string,
    { csrf, transaction, username }: { csrf?: string; transaction?: string; username?: string },
  ): Promise<{ session: Session | undefined; pending: PendingRequest | undefined } | undefined> {
    const { session, pending: stored } = await sessions.findContext(request, reply, { transaction });
    const pending = stored && (await shownRequest(options.clients, stored));
    const shown = returnToOf(request)?.value;
    if (!sessions.isOwnForm(request, csrf, { action, transaction, session, shown })) {
      const problem = sessions.browserHash(request) === undefined ? 'cookies' : 'tampered';
      show(request, reply, pending && transaction, pending, session, { problem, username, status: 400 });
      return undefined;
    }
    if (transaction !== undefined && !pending) {
      show(request, reply, undefined, undefined, session, { problem: 'expired', username, status: 400 });
      return undefined;
    }
    return { session, pending };
  }

  function show(
    request: FastifyRequest,
    reply: FastifyReply,
    transaction: string | undefined,
    pending: PendingRequest | undefined,
    session: Session | undefined,
    state: {
      problem?: LoginProblem;
      /** Seconds. */
      wait?: number;
      fields?: ('username' | 'password')[];
      username?: string | undefined;
      status?: number;
    },
  ): FastifyReply {
    const returnTo = returnToOf(request);
    const shown = returnTo?.value;
    const formOf = (action: string): FormView => ({
      action,
      hidden: {
        csrf: sessions.formToken(request, reply, { action, transaction, session, shown }),
        ...(transaction !== undefined && { transaction }),
        ...(shown !== undefined && { destination: shown }),
      },
    });
    const data: Pages['login'] = { form: formOf('/login'), forgottenPasswordUri: '/password/forgotten' };
    if (config.signUp) data.signUpUri = signInPath('/sign-up', { transaction });
    const asked = passkeys.requestOptions(request, reply, { purpose: 'sign-in' });
    if (asked !== undefined) data.passkey = { form: formOf('/login/passkey'), options: asked };
    if (returnTo && transaction === undefined) data.destination = returnTo.name;
    const username = state.username ?? pending?.loginHint ?? session?.user.username;
    if (pending?.client) data.client = pending.client;
    if (username !== undefined) data.username = username;
    if (state.problem) data.problem = state.problem;
    if (state.wait !== undefined) data.wait = state.wait;
    if (state.fields) data.fields = state.fields;
    if (session) data.reauthentication = accountView(session.user);
    return pages.send(request, reply, 'login', data, {
      status: state.status ?? 200,
      formTarget: pending?.redirectUri,
      uiLocales: pending?.uiLocales,
    });
  }
}
