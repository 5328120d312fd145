// The second step of a sign-in: GET|POST /login/second-factor asks for a second factor, GET|POST /login/authenticator sets up the first one.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { authenticatorForm, authenticatorView, factorName } from '../../authenticators/totp/enrolment-page.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { destinationOf } from '../../pages/return-to.ts';
import { onlyForms } from '../../server/form-body.ts';
import { accountView } from '../../pages/page-response.ts';
import { readParameters, singleValued, text } from '../../server/parameters.ts';
import { longestCredential, type PasskeyAnswer } from '../../authenticators/passkey/passkeys.ts';
import { findPendingRequest, type PendingRequest } from '../../interaction/pending-request-view.ts';
import type { NewAuthenticator } from '../../authenticators/second-factors.ts';
import type { FirstStep } from '../../interaction/second-step.ts';
import { type SignInCourse, signInPath, withMethods } from '../../interaction/sign-in.ts';
import type { Pages } from '../../pages/views/index.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { Passkeys } from '../../authenticators/passkey/passkeys.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { SecondFactors } from '../../authenticators/second-factors.ts';
import type { SecondStep } from '../../interaction/second-step.ts';
import type { SignIn } from '../../interaction/sign-in.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { AuditTrail } from '../../server/audit.ts';
import type { FindPendingRequestDependencies } from '../../interaction/pending-request-view.ts';

const codeForm = z.object({
  csrf: text(100).optional(),
  transaction: text(100).optional(),
  destination: text(100).optional(),
  code: text(100).optional(),
  recovery_code: text(100).optional(),
  credential: text(longestCredential).optional(),
});

type Action = '/login/second-factor' | '/login/authenticator';
type Trouble = Pick<Pages['login-second-factor'], 'problem'>;

/** Who takes the second step, and for what. */
interface Visit extends FirstStep {
  course: SignInCourse;
  pending: PendingRequest | undefined;
}

type LoginSecondFactorDependencies = FindPendingRequestDependencies & {
  config: Config;
  store: Pick<Store, 'passkeys' | 'recoveryCodes' | 'secondFactors'>;
  passkeys: Passkeys;
  sessions: BrowserSessions;
  secondFactors: SecondFactors;
  secondStep: SecondStep;
  signIn: SignIn;
  pages: PageResponses;
  audit: AuditTrail;
};

export async function loginSecondFactorEndpoint(
  app: FastifyInstance,
  options: LoginSecondFactorDependencies,
): Promise<void> {
  const { config, store, passkeys, secondFactors, secondStep, signIn, sessions, pages, audit } = options;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get('/login/second-factor', async (request, reply) => {
    onlyNavigation(request);
    const visit = await enter(request, reply, true);
    return visit && ask(request, reply, visit, {}, 200);
  });

  app.post('/login/second-factor', async (request, reply) => {
    const { csrf, code, recovery_code: recovery, credential } = readParameters(codeForm, singleValued(request.body));
    const visit = await enter(request, reply, true);
    if (!visit) return reply;
    if (!isOwnForm(request, csrf, '/login/second-factor', visit))
      return ask(request, reply, visit, { problem: 'tampered' }, 400);
    const { user } = visit;
    if (credential !== undefined) {
      const answer = await passkeys.check(request, credential, passkeyOf(visit), user.sub);
      if (answer.outcome !== 'right') return refusePasskey(request, reply, visit, answer);
      const methods = [...answer.amr, 'mfa'];
      return pages.redirect(
        reply,
        (await complete(request, reply, visit, methods)) ?? signInPath('/login', visit.course),
      );
    }
    const typed = code ?? recovery;
    if (typed === undefined || !(await secondFactors.check(request, user.sub, typed))) {
      const { clientId } = visit.course;
      const detail = { second_factor: true };
      // nothing was tried where nothing was typed
      if (typed !== undefined)
        await audit(request, { type: 'user.sign_in_failed', outcome: 'failure', sub: user.sub, clientId, detail });
      const problem = code === undefined && recovery !== undefined ? 'recovery' : 'code';
      return ask(request, reply, visit, { problem }, 400);
    }
    return pages.redirect(reply, (await complete(request, reply, visit)) ?? signInPath('/login', visit.course));
  });

  app.get('/login/authenticator', async (request, reply) => {
    onlyNavigation(request);
    const visit = await enter(request, reply, false);
    return visit && setUp(request, reply, visit, secondFactors.begin(visit.user), {}, 200);
  });

  app.post('/login/authenticator', async (request, reply) => {
    const form = readParameters(authenticatorForm, singleValued(request.body));
    const visit = await enter(request, reply, false);
    if (!visit) return reply;
    const { user } = visit;
    const anew = () => secondFactors.begin(user);
    if (!isOwnForm(request, form.csrf, '/login/authenticator', visit))
      return setUp(request, reply, visit, anew(), { problem: 'tampered' }, 400);
    const name = factorName(form.name);
    const added = await secondFactors.confirm(request, user, form.set_up ?? '', form.code ?? '', name);
    if (added.outcome === 'expired') return setUp(request, reply, visit, anew(), { problem: 'expired', name }, 400);
    if (added.outcome === 'wrong') return setUp(request, reply, visit, added.again, { problem: 'code', name }, 400);
    const next = (await complete(request, reply, visit)) ?? signInPath('/login', visit.course);
    if (added.recoveryCodes.length === 0) return pages.redirect(reply, next);
    return pages.send(request, reply, 'account-recovery-codes', {
      account: accountView(user),
      codes: added.recoveryCodes,
      issuer: config.issuer,
      continueUri: next,
    });
  });

  async function refusePasskey(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: Visit,
    answer: Exclude<PasskeyAnswer, { outcome: 'right' }>,
  ): Promise<FastifyReply> {
    if (answer.outcome === 'wrong') {
      const { passkey, reason } = answer;
      const detail = { second_factor: true, passkey, reason };
      const { clientId } = visit.course;
      await audit(request, { type: 'user.sign_in_failed', outcome: 'failure', sub: visit.user.sub, clientId, detail });
    }
    if (answer.outcome === 'throttled') reply.header('retry-after', String(answer.wait));
    return ask(request, reply, visit, { problem: 'passkey' }, answer.outcome === 'throttled' ? 429 : 400);
  }

  /**
   * Both factors were shown. The time of the sign-in is that of the second one only where the first one was shown for the same purpose:
   * else a code alone would pass for a fresh sign-in (OpenID Connect Core 3.1.2.1: prompt=login, max_age; security R9).
   */
  function complete(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: Visit,
    methods: readonly string[] = ['otp', 'mfa'],
  ): Promise<string | undefined> {
    const { user, passwordHash, course, pending, shownAt, stepUp } = visit;
    const amr = withMethods(visit.amr, ...methods);
    const apart = stepUp || (pending !== undefined && shownAt <= pending.createdAt);
    const authTime = apart ? shownAt : undefined;
    return signIn.complete(request, reply, { sub: user.sub, passwordHash, amr, authTime }, course);
  }

  /**
   * Who is in the middle of a sign-in here; undefined after the browser was sent elsewhere.
   * @param enrolled whether the page is for those who have a second factor, or for those who have none
   */
  async function enter(request: FastifyRequest, reply: FastifyReply, enrolled: boolean): Promise<Visit | undefined> {
    const { transaction } = singleValued(request.method === 'POST' ? request.body : request.query);
    if (transaction !== undefined && transaction.length > 100) throw invalidRequest('transaction is too long');
    const previous = await sessions.find(request, reply);
    const pending = await findPendingRequest(options, request, transaction);
    const course = { previous, transaction, clientId: pending?.clientId, destination: destinationOf(request) };
    const first = await secondStep.find(request, previous);
    // without a first step, or with a request whose time is over: the sign-in page knows what to say
    if (!first || (transaction !== undefined && !pending)) {
      void pages.redirect(reply, signInPath('/login', course));
      return undefined;
    }
    const standing = await store.secondFactors.standing(first.user.sub);
    if ((standing?.enrolled ?? false) !== enrolled) {
      void pages.redirect(reply, signInPath(enrolled ? '/login/authenticator' : '/login/second-factor', course));
      return undefined;
    }
    return { ...first, course, pending };
  }

  const binding = (action: Action, { user, course }: Visit) => ({
    action,
    transaction: course.transaction,
    session: course.previous,
    shown: `${user.sub} ${course.destination?.value ?? ''}`,
  });

  const isOwnForm = (request: FastifyRequest, csrf: string | undefined, action: Action, visit: Visit) =>
    sessions.isOwnForm(request, csrf, binding(action, visit));

  function hiddenFields(request: FastifyRequest, reply: FastifyReply, action: Action, visit: Visit) {
    const { transaction, destination } = visit.course;
    return {
      csrf: sessions.formToken(request, reply, binding(action, visit)),
      ...(transaction !== undefined && { transaction }),
      ...(destination && { destination: destination.value }),
    };
  }

  async function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: Visit,
    trouble: Trouble,
    status: number,
  ): Promise<FastifyReply> {
    const { user, course, pending } = visit;
    const action = '/login/second-factor';
    const [factors, own, left] = await Promise.all([
      store.secondFactors.list(user.sub),
      store.passkeys.list(user.sub),
      store.recoveryCodes.count(user.sub),
    ]);
    const form = { action, hidden: hiddenFields(request, reply, action, visit) };
    const data: Pages['login-second-factor'] = {
      account: accountView(user),
      form,
      methods: { authenticator: factors.some(({ kind }) => kind === 'authenticator'), recovery: left > 0 },
      restartUri: signInPath('/login', course),
      ...trouble,
    };
    const options = own.length > 0 ? passkeys.requestOptions(request, reply, passkeyOf(visit), own) : undefined;
    if (options !== undefined) data.passkey = { form, options };
    if (pending?.client) data.client = pending.client;
    return pages.send(request, reply, 'login-second-factor', data, pageOptions(pending, status));
  }

  function setUp(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: Visit,
    fresh: NewAuthenticator,
    trouble: Pick<Pages['account-authenticator'], 'problem' | 'name'>,
    status: number,
  ): FastifyReply {
    const { user, course, pending } = visit;
    const action = '/login/authenticator';
    const data: Pages['account-authenticator'] = {
      ...authenticatorView(user, fresh, action, hiddenFields(request, reply, action, visit)),
      signIn: pending?.client ? { client: pending.client } : {},
      backUri: signInPath('/login', course),
      ...trouble,
    };
    return pages.send(request, reply, 'account-authenticator', data, pageOptions(pending, status));
  }
}

/** What the passkey of a second step answers: no other step's challenge, and nobody else's. */
const passkeyOf = ({ user }: Visit) => ({ purpose: 'second-factor', of: user.sub }) as const;

const pageOptions = (pending: PendingRequest | undefined, status: number) => ({
  status,
  formTarget: pending?.redirectUri,
  uiLocales: pending?.uiLocales,
});
