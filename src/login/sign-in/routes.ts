// Serves GET /login and the forms of its first factors: signs a user in, and continues a pending request.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticator, FirstFactor, FirstFactorRefused } from '../../authenticators/authenticator.ts';
import type { Elsewhere } from '../../authenticators/connection/elsewhere.ts';
import type { ConnectionRouting } from '../../authenticators/connection/routing.ts';
import type { DeviceCookies } from '../../browser/device-cookie.ts';
import { type BrowserSessions, type FormBinding, onlyNavigation } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import type { InteractionFlow } from '../../interaction/relying-party.ts';
import { type PendingRequest, shownRequest } from '../../interaction/pending-request-view.ts';
import { continueOrExpire } from '../../interaction/repeated-form.ts';
import type { RememberedRequests } from '../../interaction/remembered-request.ts';
import { continuationPath, requiredPath, type SignIn, signInPath } from '../../interaction/sign-in.ts';
import { digest } from '../../crypto/secrets.ts';
import { consoleClientId } from '../../rules/clients/console-client.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { accountView, type PageResponses } from '../../pages/page-response.ts';
import { isOwnPage, returnToOf, secondFactors } from '../../pages/return-to.ts';
import type { FormView, LoginProblem, Pages } from '../../pages/views/index.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { ConnectionDirectory } from '../../repositories/connections/connection-directory.ts';
import type { Connection } from '../../entities/connections.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';
import { auditFailedSignIn, type AuditTrail } from '../../server/audit.ts';
import { onlyForms } from '../../server/form-body.ts';
import { alsoHead } from '../../server/head.ts';
import { readParameters, singleValued, textFields } from '../../server/parameters.ts';
import { createAfterVainTrip } from './vain-trip.ts';
import { createLeave, isAllowed, isLocal, isShown, nameForm, namePath, type SignInPageKind } from './name-first.ts';

const cancelPath = '/login/cancel';
const cancelForm = textFields({ csrf: 100, transaction: 100, destination: 100, local: 1 });

/** The problems that the page's address can name: keys of the catalogue. */
const pageErrors: readonly string[] = ['client', 'request', 'expired'] satisfies LoginProblem[];

interface LoginDependencies {
  config: Config;
  store: Pick<Store, 'authorizationRequests' | 'users'>;
  clients: ClientCache;
  authenticators: readonly Authenticator[];
  sessions: BrowserSessions;
  deviceCookies: DeviceCookies;
  signIn: SignIn;
  pages: PageResponses;
  audit: AuditTrail;
  rememberedRequests: RememberedRequests;
  connectionRouting: ConnectionRouting;
  elsewhere: Elsewhere;
  connections: ConnectionDirectory;
  flow: InteractionFlow;
}

/** The sign-in page of one request: what the browser has, and what it sent. */
interface SignInPage {
  transaction: string | undefined;
  pending: PendingRequest | undefined;
  session: Session | undefined;
  /** As the user typed it. */
  username?: string | undefined;
  /** The sub of the account that the user chose of those that the browser knows; any other value for another account. */
  account?: string | undefined;
  /** Whether the user chose to stay signed in. */
  remember?: boolean;
  kind: SignInPageKind;
  /** Of the refusal, for administrators. */
  reference?: string | undefined;
}

export async function loginEndpoint(app: FastifyInstance, options: LoginDependencies): Promise<void> {
  const { config, store, flow, signIn, sessions, deviceCookies, pages, audit, rememberedRequests, connectionRouting } =
    options;
  const sites = options.authenticators.flatMap((one) => one.elsewhere ?? []);
  const leave = createLeave(options);
  const afterVainTrip = createAfterVainTrip(options);
  const factors = options.authenticators.flatMap(({ id, first }) => (first ? [{ id, ...first }] : []));
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get('/login', alsoHead, async (request, reply) => {
    onlyNavigation(request);
    const { transaction, problem, reference, account, local, connection } = singleValued(request.query);
    if (problem !== undefined && pageErrors.includes(problem)) {
      const data: Pages['login'] = { problem: problem as LoginProblem };
      if (reference !== undefined && /^[0-9a-f]{8}$/.test(reference)) data.reference = reference;
      // the same for everybody, whether such a client exists or not (security R2)
      if (problem === 'client' && config.clientDocuments !== 'off') data.newApplicationUri = '/login';
      return pages.send(request, reply, 'login', data, { status: 400 });
    }
    const { session, pending, isSatisfied } = await findContext(request, reply, transaction);
    const isExpired = transaction !== undefined && !pending;
    // another tab has signed in meanwhile; a connection may not know when. A page that leads here to choose another account or way says so
    const isNew = session && pending && (session.authTime > pending.createdAt || session.upstream !== undefined);
    const isChosen = [account, local, connection].some((choice) => choice !== undefined);
    if (transaction !== undefined && isNew && !isChosen && (await isSatisfied()))
      return pages.redirect(reply, continuationPath({ transaction }));
    // a user who cannot sign in continues the request by a mailed link
    if (pending) rememberedRequests.remember(request, reply, transaction);
    // the user can still sign in without an expired request
    const page = { transaction: pending && transaction, pending, session, account };
    // where a user of an enforced domain is led
    const required = connection === undefined ? undefined : await connectionRouting.enforcedBy(connection);
    if (required) return show(request, reply, { ...page, kind: oneOf(required) }, { problem: 'enforced' });
    const isSame = session && !isExpired && local === undefined && isAgain(session, undefined, account);
    const after = isSame ? await afterVainTrip(session, pending, returnToOf(request)) : undefined;
    if (after === 'password') return show(request, reply, { ...page, kind: 'all' }, { problem: 'untimed' });
    if (after === 'first-factor') return pages.redirect(reply, `${secondFactors.path}?done=needed`);
    if (after === 'administrator') return showUntimed(request, reply, session!);
    const kind = local === '1' ? 'local' : (await connectionRouting.isOn()) ? 'name' : 'all';
    return show(request, reply, { ...page, kind }, isExpired ? { problem: 'expired' } : undefined);
  });

  // the domain of the name alone decides: nothing is looked up, so that the answer tells nothing about accounts (federation FR12)
  app.post(namePath, async (request, reply) => {
    const { csrf, transaction, username = '', ...chosen } = readParameters(nameForm, request.body);
    const { session, pending } = await findContext(request, reply, transaction);
    const remember = chosen['remember'] !== undefined;
    const page = { transaction: pending && transaction, pending, session, username, remember };
    const shown = returnToOf(request);
    const form = { action: namePath, transaction, session, shown: shown?.value };
    if (!sessions.isOwnForm(request, csrf, form)) return refuse(request, reply, { ...page, kind: 'name' }, csrf, form);
    if (transaction !== undefined && !pending)
      return show(request, reply, { ...page, kind: 'name' }, { problem: 'expired' });
    const name = username.trim();
    if (name === '')
      return show(request, reply, { ...page, kind: 'name' }, { problem: 'missing', fields: ['username'] });
    const connection = await connectionRouting.of(name);
    if (!connection || !isAllowed(pending, connection.id)) return show(request, reply, { ...page, kind: 'all' });
    if (await leave(request, reply, connection, { page, name, destination: shown?.value })) return reply;
    return show(request, reply, { ...page, kind: oneOf(connection) }, { problem: 'connection' });
  });

  app.post(cancelPath, async (request, reply) => {
    const { csrf, transaction } = readParameters(cancelForm, request.body);
    const { session, pending } = await findContext(request, reply, transaction);
    if (transaction === undefined || !pending) return continueOrExpire(options, request, reply);
    const form = { action: cancelPath, transaction, session };
    if (!sessions.isOwnForm(request, csrf, form) && !sessions.isEarlierForm(request, csrf, form))
      return show(request, reply, { transaction, pending, session, kind: 'all' }, { problem: 'tampered' });
    await store.authorizationRequests.cancel(digest('transaction', transaction), sessions.formHash(request));
    return pages.redirect(reply, continuationPath({ transaction }));
  });

  for (const factor of factors) {
    const form = textFields({ csrf: 100, transaction: 100, local: 1, remember: 2, ...factor.fields });
    app.post(factor.path, async (request, reply) => {
      const parsed = form.safeParse(singleValued(request.body));
      if (!parsed.success) throw new OAuthError('invalid_request', 'the form could not be read');
      return submit(request, reply, factor, parsed.data);
    });
  }

  async function submit(
    request: FastifyRequest,
    reply: FastifyReply,
    { path, finish }: FirstFactor,
    { csrf, transaction, local, remember: chosen, ...fields }: Record<string, string | undefined>,
  ): Promise<FastifyReply> {
    const { session, pending } = await findContext(request, reply, transaction);
    const kind: SignInPageKind = local === undefined ? 'all' : 'local';
    const remember = chosen !== undefined;
    const username = fields['username'];
    const page = { transaction: pending && transaction, pending, session, username, remember, kind };
    const shown = returnToOf(request)?.value;
    const binding = { action: path, transaction, session, shown };
    if (!sessions.isOwnForm(request, csrf, binding)) return refuse(request, reply, page, csrf, binding);
    if (transaction !== undefined && !pending) return show(request, reply, page, { problem: 'expired' });
    const answer = await finish(
      { request, reply, continuation: { transaction, destination: shown, remember } },
      fields,
    );
    const clientId = pending?.clientId;
    if (answer.outcome === 'continues') return pages.redirect(reply, answer.path);
    if (answer.outcome === 'verified') {
      const continuation = { previous: session, transaction, clientId, returnTo: returnToOf(request), remember };
      const next = await signIn.proceed(request, reply, answer.user, continuation);
      if (next !== undefined) {
        rememberedRequests.remember(request, reply, undefined);
        return pages.redirect(reply, next);
      }
    }
    const refused = answer.outcome === 'verified' ? answer.late : answer;
    // the answer of a passkey is used up by the first request of a double click
    const again =
      username === undefined
        ? await signIn.repeat(request, reply, { transaction, returnTo: returnToOf(request) })
        : undefined;
    if (again !== undefined) return pages.redirect(reply, again);
    const reference = refused.event && (await auditFailedSignIn(audit, request, { clientId, ...refused.event }));
    // a name of an enforced domain gets one answer for every user and every password (federation FR12)
    const required = await connectionRouting.enforcedOf(username ?? '');
    if (required && refused.wait === undefined)
      return pages.redirect(reply, requiredPath(required.id, { transaction, returnTo: returnToOf(request) }));
    return show(request, reply, { ...page, reference }, refused);
  }

  /** Says how the user gets a factor: no sign-in at the connection proves anything. */
  async function showUntimed(request: FastifyRequest, reply: FastifyReply, { upstream }: Session) {
    const connection = (await options.connections.list()).find(({ id }) => id === upstream?.connectionId);
    const refusal = new OAuthError('access_denied', 'the connection did not say when the user signed in there', 403);
    const data: Pages['connection-problem'] = {
      problem: 'untimed',
      ...(connection && { name: connection.displayName }),
      signInUri: '/login/accounts',
      reference: await pages.explain(request, refusal),
    };
    return pages.send(request, reply, 'connection-problem', data, { status: 403 });
  }

  /** The browser's session, and its pending request. */
  async function findContext(request: FastifyRequest, reply: FastifyReply, transaction: string | undefined) {
    const context = await sessions.findContext(request, reply, { transaction });
    const { session, pending } = context;
    return {
      session,
      pending: pending && (await shownRequest(options.clients, pending)),
      isSatisfied: () => flow.isSatisfied(request, transaction!, context),
    };
  }

  /**
   * Answers a form without a valid token. One that was drawn before another tab signed in goes on with the session, and what was typed is
   * discarded (OpenID Connect Core 3.1.2.3); if another user was named, a page says who is signed in.
   */
  async function refuse(
    request: FastifyRequest,
    reply: FastifyReply,
    page: SignInPage,
    csrf: string | undefined,
    binding: FormBinding,
  ): Promise<FastifyReply> {
    const { transaction, session, username } = page;
    if (binding.transaction !== undefined && transaction === undefined)
      return show(request, reply, page, { problem: 'expired' });
    if (!sessions.isEarlierForm(request, csrf, binding)) {
      const problem = request.headers.cookie === undefined ? 'cookies' : 'tampered';
      return show(request, reply, page, { problem });
    }
    const continuation = { transaction, returnTo: returnToOf(request) };
    // the session has ended, or was renewed by the first request of a double click: else the page is shown for a new sign-in
    if (!session)
      return pages.redirect(
        reply,
        (await signIn.repeat(request, reply, continuation)) ?? signInPath('/login', continuation),
      );
    const name = username?.trim() ?? '';
    const isOther = name !== '' && (await store.users.findByLogin(name))?.sub !== session.user.sub;
    return pages.redirect(
      reply,
      isOther ? signInPath('/login/accounts', continuation) : continuationPath(continuation),
    );
  }

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { transaction, pending, session, username: typed, account, remember = false, kind, reference }: SignInPage,
    refused?: Pick<FirstFactorRefused, 'problem' | 'fields' | 'wait' | 'status'>,
  ): Promise<FastifyReply> {
    const returnTo = returnToOf(request);
    const shown = returnTo?.value;
    const formOf = (action: string): FormView => ({
      action,
      hidden: {
        csrf: sessions.formToken(request, reply, { action, transaction, session, shown }),
        ...(transaction !== undefined && { transaction }),
        ...(shown !== undefined && { destination: shown }),
        ...(kind === 'local' && action !== namePath && { local: '1' }),
      },
    });
    const ways = (await Promise.all(sites.map((one) => one.ways({ request, reply }))))
      .flat()
      .filter(isShown(pending, kind))
      // the way that has just not helped
      .filter(({ id }) => refused?.problem !== 'untimed' || id !== session?.upstream?.connectionId);
    // a directory takes its passwords at this page
    const named = typeof kind === 'object' ? [kind.connection] : (pending?.connections ?? []);
    const atDirectory = await connectionRouting.takesPasswords(named);
    const again = isAgain(session, typed, account) ? session : undefined;
    const hasNoPassword = again?.user.passwordHash === undefined && !(await connectionRouting.hasDirectories());
    const methods: NonNullable<Pages['login']['methods']> = [];
    for (const { id, path, fields, begin } of factors) {
      // a user without a password is not asked for one
      if (again && hasNoPassword && ways.length > 0 && 'username' in fields) continue;
      // what needs a name comes after it
      if (kind === 'name' && 'username' in fields) {
        if (!methods.some((method) => method.id === 'name')) methods.push({ id: 'name', form: formOf(namePath) });
        continue;
      }
      if (!isLocal(pending, kind) && !(atDirectory && 'username' in fields)) continue;
      const view = await begin({ request, reply });
      if (view) methods.push({ ...view, id, form: formOf(path) });
    }
    const last = deviceCookies.lastFactor(request);
    methods.sort((a, b) => Number(b.id === last) - Number(a.id === last));
    const data: Pages['login'] = { methods, forgottenPasswordUri: signInPath('/password/forgotten', { transaction }) };
    if (ways.length > 0) data.elsewhere = ways.map(({ path, ...way }) => ({ ...way, form: formOf(path) }));
    // a user who confirms an operation of the service's own pages goes on as the same user
    const isConfirmation =
      again !== undefined && (pending ? pending.clientId === consoleClientId : isOwnPage(returnTo));
    if (!isConfirmation && (session || deviceCookies.hash(request)))
      data.accountsUri = signInPath('/login/accounts', { transaction, returnTo });
    if (config.signUp && !isConfirmation) data.signUpUri = signInPath('/sign-up', { transaction });
    if (returnTo && transaction === undefined) data.destination = returnTo.name;
    const known = account === undefined ? [] : await deviceCookies.accounts(request);
    const chosen = known.find(({ sub }) => sub === account)?.username;
    const username = typed ?? chosen ?? pending?.loginHint ?? again?.user.username;
    if (pending?.client) data.client = pending.client;
    if (transaction !== undefined) data.cancel = formOf(cancelPath);
    if (username !== undefined) data.username = username;
    if (refused) data.problem = refused.problem;
    if (reference !== undefined) data.reference = reference;
    if (typeof kind === 'object') data.connection = kind.name;
    if (refused?.wait !== undefined) data.wait = refused.wait;
    if (refused?.fields) data.fields = refused.fields;
    if (again) data.reauthentication = accountView(again.user);
    // a session that a user confirms stays as it is
    else if (config.rememberMe) data.remember = remember;
    if (refused?.wait !== undefined) reply.header('retry-after', String(refused.wait));
    return pages.send(request, reply, 'login', data, {
      status: refused ? statusOf(refused) : 200,
      uiLocales: pending?.uiLocales,
      here: signInPath('/login', { transaction, returnTo }),
    });
  }
}

const oneOf = ({ id, displayName }: Connection): SignInPageKind => ({ connection: id, name: displayName });

/** Whether the user of the session signs in again, and has neither typed nor chosen another account. */
function isAgain(session: Session | undefined, typed: string | undefined, account: string | undefined): boolean {
  if (!session) return false;
  const { sub, username } = session.user;
  return (typed === undefined || typed === username) && (account === undefined || account === sub);
}

function statusOf({ problem, wait, status }: Pick<FirstFactorRefused, 'problem' | 'wait' | 'status'>): number {
  if (problem === 'connection') return 503;
  if (wait === undefined) return status ?? 400;
  return problem === 'busy' ? 503 : 429;
}
