// GET|POST /login: the sign-in page and its form; with a pending request it goes on there, else to the account page.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { onlyNavigation } from '../../http/browser-session.ts';
import { destinationOf } from '../../http/destination.ts';
import { onlyForms } from '../../http/form-body.ts';
import { accountView } from '../../http/page-response.ts';
import { singleValued, text } from '../../http/parameters.ts';
import { findPendingRequest, type PendingRequest } from '../../http/pending-request.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import type { LoginProblem, Pages } from '../../http/views/index.ts';
import { OAuthError } from '../../oauth/errors.ts';
import type { Session } from '../../repositories/sessions.ts';

const form = z.object({
  csrf: text(100).optional(),
  transaction: text(100).optional(),
  username: text(320).optional(),
  password: text(4096).optional(),
});

/** What is wrong before any form: a key of the page's catalogue. */
const standing: readonly string[] = ['client', 'request', 'expired'] satisfies LoginProblem[];

export async function loginEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
  const { checkPassword, signIn, sessions, pages, audit } = options;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get('/login', async (request, reply) => {
    onlyNavigation(request);
    const { transaction, problem } = singleValued(request.query);
    if (problem !== undefined && standing.includes(problem)) {
      return pages.send(request, reply, 'login', { problem: problem as LoginProblem }, { status: 400 });
    }
    const session = await sessions.find(request, reply);
    const pending = await findPendingRequest(options, request, transaction);
    if (transaction !== undefined && !pending) {
      // the form is too old, but whoever wants to sign in still can
      return show(request, reply, undefined, undefined, session, { problem: 'expired', status: 400 });
    }
    return show(request, reply, transaction, pending, session, {});
  });

  app.post('/login', async (request, reply) => {
    const parsed = form.safeParse(singleValued(request.body));
    if (!parsed.success) throw new OAuthError('invalid_request', 'the form could not be read');
    const { csrf, transaction, username, password } = parsed.data;
    const session = await sessions.find(request, reply);
    const pending = await findPendingRequest(options, request, transaction);
    const shown = destinationOf(request)?.value;
    if (!sessions.isOwnForm(request, csrf, { action: '/login', transaction, session, shown })) {
      const problem = sessions.browserHash(request) === undefined ? 'cookies' : 'tampered';
      return show(request, reply, pending && transaction, pending, session, { problem, username, status: 400 });
    }
    if (transaction !== undefined && !pending) {
      return show(request, reply, undefined, undefined, session, { problem: 'expired', username, status: 400 });
    }
    const missing = (['username', 'password'] as const).filter((field) => parsed.data[field] === undefined);
    if (username === undefined || password === undefined) {
      return show(request, reply, transaction, pending, session, {
        problem: 'missing',
        fields: missing,
        username,
        status: 400,
      });
    }
    const answer = await checkPassword(request, username, password);
    if (answer.outcome === 'throttled' || answer.outcome === 'busy') {
      const { outcome: problem, wait } = answer;
      reply.header('retry-after', String(wait));
      const status = problem === 'busy' ? 503 : 429;
      return show(request, reply, transaction, pending, session, { problem, wait, username, status });
    }
    const clientId = pending?.clientId;
    const course = { previous: session, transaction, clientId, destination: destinationOf(request) };
    const next =
      answer.outcome === 'right'
        ? await signIn.proceed(request, reply, { ...answer.user, amr: ['pwd'] }, course)
        : undefined;
    if (next === undefined) {
      const sub = answer.outcome === 'wrong' ? answer.sub : answer.user.sub;
      await audit(request, { type: 'user.sign_in_failed', outcome: 'failure', sub, clientId });
      return show(request, reply, transaction, pending, session, { problem: 'credentials', username, status: 400 });
    }
    return pages.redirect(reply, next);
  });

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
    const destination = destinationOf(request);
    const shown = destination?.value;
    const hidden: Record<string, string> = {
      csrf: sessions.formToken(request, reply, { action: '/login', transaction, session, shown }),
    };
    if (transaction !== undefined) hidden['transaction'] = transaction;
    if (shown !== undefined) hidden['destination'] = shown;
    const data: Pages['login'] = { form: { action: `/login`, hidden } };
    if (destination && transaction === undefined) data.destination = destination.name;
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
