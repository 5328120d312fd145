// Serves GET|POST /login/second-factor, the second step of a sign-in, and the page within a sign-in that adds a user's first second factor.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type {
  Authenticator,
  EnrolmentView,
  SecondFactor,
  SignInEnrolment,
} from '../../authenticators/authenticator.ts';
import type { FormOutcomes, Refused } from '../../browser/form-outcomes.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { hasPower, signedInRecently } from '../../browser/recent-sign-in.ts';
import type { Config } from '../../config.ts';
import { guardedGroups } from '../../domain/administration/guarded-groups.ts';
import {
  findPendingRequest,
  type FindPendingRequestDependencies,
  type PendingRequest,
} from '../../interaction/pending-request-view.ts';
import type { FirstStep, SecondStep } from '../../interaction/second-step.ts';
import {
  type Continuation,
  continuationPath,
  type SignIn,
  signInPath,
  withMethods,
} from '../../interaction/sign-in.ts';
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';
import { accountView, type PageResponses } from '../../pages/page-response.ts';
import { returnToOf } from '../../pages/return-to.ts';
import type { AccountView, Pages } from '../../pages/views/index.ts';
import type { ConnectionDirectory } from '../../repositories/connections/connection-directory.ts';
import type { Store } from '../../repositories/store.ts';
import { auditFailedSignIn, type AuditTrail } from '../../server/audit.ts';
import { onlyForms } from '../../server/form-body.ts';
import { readParameters, singleValued, textFields } from '../../server/parameters.ts';

const path = '/login/second-factor';

type Method = Pages['login-second-factor']['methods'][number];
type Factor = SecondFactor & { id: string };

interface Step extends FirstStep {
  continuation: Continuation;
  pending: PendingRequest | undefined;
  /** Whether the user chose that this browser spares the next second factors. */
  spareNext?: boolean;
  /** Of the refusal, for administrators. */
  reference?: string;
}

type LoginSecondFactorDependencies = FindPendingRequestDependencies & {
  config: Config;
  store: Pick<Store, 'secondFactors'>;
  authenticators: readonly Authenticator[];
  sessions: BrowserSessions;
  formOutcomes: FormOutcomes;
  secondStep: SecondStep;
  signIn: SignIn;
  pages: PageResponses;
  audit: AuditTrail;
  connections: ConnectionDirectory;
};

export async function loginSecondFactorEndpoint(
  app: FastifyInstance,
  options: LoginSecondFactorDependencies,
): Promise<void> {
  const { config, store, authenticators, connections, secondStep, signIn, sessions, formOutcomes, pages, audit } =
    options;
  const guarded = guardedGroups(config);
  const factors = authenticators.flatMap(({ id, second }) => (second ? [{ ...second, id }] : []));
  const answers = textFields({
    csrf: 100,
    spare: 2,
    ...Object.fromEntries(factors.map(({ field }) => [field.name, field.max])),
  });
  const enrolment = enrolmentOf(authenticators);
  const additions = textFields({ csrf: 100, transaction: 100, destination: 100, ...enrolment.fields });
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get(path, async (request, reply) => {
    onlyNavigation(request);
    const step = await enter(request, reply, true);
    return step && ask(request, reply, step, undefined, 200);
  });

  app.post(path, async (request, reply) => {
    const result = await formOutcomes.once(request, () => verify(request, reply), await mayAct(request, reply));
    if ('refused' in result) return result.refused();
    const { made, again } = result;
    if (again) await sessions.repeat(request, reply);
    return pages.redirect(reply, made.next);
  });

  /** Whether the browser is in the middle of a sign-in, or signed in. */
  const mayAct = async (request: FastifyRequest, reply: FastifyReply): Promise<boolean> =>
    secondStep.isOpen(request) || (await sessions.find(request, reply)) !== undefined;

  /** Verifies a second factor, and completes the sign-in. */
  async function verify(request: FastifyRequest, reply: FastifyReply): Promise<{ next: string } | Refused> {
    const { csrf, spare, ...fields } = readParameters(answers, request.body);
    const entered = await enter(request, reply, true);
    const step: Step | undefined = entered && { ...entered, spareNext: spare !== undefined && maySpare(entered) };
    if (!step) return { refused: () => reply };
    const refused = (failed: Parameters<typeof ask>[3], status = 400): Refused => ({
      refused: () => ask(request, reply, step, failed, status),
    });
    if (!isOwnForm(request, csrf, path, step)) return earlier(request, reply, csrf, path, step) ?? refused('tampered');
    const { user, continuation } = step;
    const shown = factors.find(({ field }) => fields[field.name] !== undefined);
    // the user sent an empty form
    if (!shown) return refused('missing');
    const sent = fields[shown.field.name]!;
    // a code in the field of another kind
    const factor = shown.reads?.(sent) === false ? (factors.find(({ reads }) => reads?.(sent)) ?? shown) : shown;
    const answer = await factor.finish({ request, reply, user }, sent);
    // a code that replaces a second factor says that the user lacks it
    const spareNext = step.spareNext && factor.proves !== 'replacement';
    if (answer.outcome === 'verified') return complete(request, reply, { ...step, spareNext }, answer.amr);
    if (answer.detail) {
      const { clientId } = continuation;
      const detail = { second_factor: true, ...answer.detail };
      step.reference = await auditFailedSignIn(audit, request, { sub: user.sub, clientId, detail });
    }
    if (answer.wait !== undefined) reply.header('retry-after', String(answer.wait));
    return refused(shown, answer.wait === undefined ? 400 : 429);
  }

  app.get(enrolment.path, async (request, reply) => {
    onlyNavigation(request);
    const step = await enter(request, reply, false);
    return step && enrol(request, reply, step, enrolment.begin(step.user), 200);
  });

  app.post(enrolment.path, async (request, reply) => {
    const result = await formOutcomes.once(request, () => add(request, reply), await mayAct(request, reply));
    if ('refused' in result) return result.refused();
    const { made, again } = result;
    const { account, codes, next: continueUri } = made;
    // a session that has ended meanwhile shows nothing more
    if (again && !(await sessions.repeat(request, reply))) return pages.redirect(reply, continueUri);
    return codes.length === 0
      ? pages.redirect(reply, continueUri)
      : pages.send(request, reply, 'account-recovery-codes', { account, codes, issuer: config.issuer, continueUri });
  });

  /** Adds the user's first second factor, and completes the sign-in. */
  async function add(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<{ account: AccountView; codes: string[]; next: string } | Refused> {
    const { csrf, ...fields } = readParameters(additions, request.body);
    const step = await enter(request, reply, false);
    if (!step) return { refused: () => reply };
    const { user } = step;
    const refused = (view: EnrolmentView): Refused => ({ refused: () => enrol(request, reply, step, view, 400) });
    if (!isOwnForm(request, csrf, enrolment.path, step)) {
      const { data, ...view } = enrolment.begin(user);
      const tampered = refused({ ...view, data: { ...data, problem: 'tampered' } });
      return earlier(request, reply, csrf, enrolment.path, step) ?? tampered;
    }
    const added = await enrolment.finish(request, user, fields);
    if (added.outcome === 'refused') return refused(added.view);
    const strengthened = { ...step, stepUp: step.stepUp || step.upstream !== undefined };
    const { next } = await complete(request, reply, strengthened, added.amr);
    return { account: accountView(user), codes: added.recoveryCodes, next };
  }

  /**
   * Completes the sign-in. Its time is that of the second factor only if the first one was shown for the same purpose: otherwise a
   * code alone would pass for a fresh sign-in (OpenID Connect Core 3.1.2.1: prompt=login, max_age; security R9).
   * @returns the page at which the sign-in continues, or its start if it could not be completed
   */
  async function complete(
    request: FastifyRequest,
    reply: FastifyReply,
    step: Step,
    methods: readonly string[],
  ): Promise<{ next: string }> {
    const { user, passwordHash, upstream, remember, pending, shownAt, stepUp } = step;
    const continuation = { ...step.continuation, remember, spareNext: step.spareNext };
    const amr = withMethods(step.amr, ...methods);
    // a sign-in elsewhere freshens nothing by itself, so that the factor shown here is what counts (federation FR10)
    const apart = stepUp || (upstream === undefined && pending !== undefined && shownAt <= pending.createdAt);
    const authTime = apart ? shownAt : undefined;
    const verified = { sub: user.sub, passwordHash, amr, authTime, upstream };
    const next = await signIn.complete(request, reply, verified, continuation);
    return { next: next ?? signInPath('/login', continuation) };
  }

  /**
   * The user in the middle of a sign-in; undefined after a redirect.
   * @param enrolled whether the page is for users with a second factor, or for users without one
   */
  async function enter(request: FastifyRequest, reply: FastifyReply, enrolled: boolean): Promise<Step | undefined> {
    const { transaction } = singleValued(request.method === 'POST' ? request.body : request.query);
    if (transaction !== undefined && transaction.length > 100) throw invalidRequest('transaction is too long');
    const previous = await sessions.find(request, reply);
    const pending = await findPendingRequest(options, request, transaction);
    const continuation = { previous, transaction, clientId: pending?.clientId, returnTo: returnToOf(request) };
    const first = await secondStep.find(request, previous);
    // without a first step, or with an expired request, the sign-in page explains what to do
    if (!first || (transaction !== undefined && !pending)) {
      void pages.redirect(reply, signInPath('/login', continuation));
      return undefined;
    }
    const status = await store.secondFactors.mfaStatus(first.user.sub);
    if ((status?.enrolled ?? false) !== enrolled) {
      void pages.redirect(reply, signInPath(enrolled ? enrolment.path : path, continuation));
      return undefined;
    }
    if (!enrolled && !mayEnrol(first, status?.now)) {
      await refuse(request, reply, { ...first, continuation, pending });
      return undefined;
    }
    return { ...first, continuation, pending };
  }

  /**
   * Whether the user may add a first second factor: one with power needs a first factor that was shown recently, so that an unattended browser
   * which is signed in at a connection gives none (federation FR10).
   */
  const mayEnrol = ({ user, shownAt }: FirstStep, now = new Date()): boolean =>
    !hasPower(user, guarded) || signedInRecently({ now, authTime: shownAt });

  /** Says how the user gets a factor otherwise. */
  async function refuse(
    request: FastifyRequest,
    reply: FastifyReply,
    { continuation, pending, upstream }: Step,
  ): Promise<void> {
    const connection = upstream && (await connections.list()).find(({ id }) => id === upstream.connectionId);
    const refusal = new OAuthError('access_denied', 'the connection did not say when the user signed in there', 403);
    void pages.send(
      request,
      reply,
      'connection-problem',
      {
        problem: 'untimed',
        ...(connection && { name: connection.displayName }),
        ...(pending?.client && { client: pending.client }),
        signInUri: signInPath('/login', continuation),
        reference: await pages.explain(request, refusal),
      },
      { status: 403, uiLocales: pending?.uiLocales },
    );
  }

  /** Whether the page offers that this browser spares the next second factors. */
  const maySpare = ({ user, stepUp }: Step): boolean =>
    config.rememberSecondFactor > 0 && !stepUp && !hasPower(user, guarded);

  const binding = (action: string, { user, shownAt, continuation }: Step) => ({
    action,
    transaction: continuation.transaction,
    session: continuation.previous,
    // the form after another sign-in is another form, not the second request of a double click
    shown: `${user.sub} ${shownAt.getTime()} ${continuation.returnTo?.value ?? ''}`,
  });

  const isOwnForm = (request: FastifyRequest, csrf: string | undefined, action: string, step: Step) =>
    sessions.isOwnForm(request, csrf, binding(action, step));

  /** Leads on from a form that was drawn before another tab signed in; undefined for any other form. */
  function earlier(
    request: FastifyRequest,
    reply: FastifyReply,
    csrf: string | undefined,
    action: string,
    step: Step,
  ): Refused | undefined {
    const { user, continuation } = step;
    const { previous } = continuation;
    if (!previous || !sessions.isEarlierForm(request, csrf, binding(action, step))) return undefined;
    secondStep.close(request, reply);
    const isOther = previous.user.sub !== user.sub;
    const next = isOther ? signInPath('/login/accounts', continuation) : continuationPath(continuation);
    return { refused: () => pages.redirect(reply, next) };
  }

  function hiddenFields(request: FastifyRequest, reply: FastifyReply, action: string, step: Step) {
    const { transaction, returnTo } = step.continuation;
    return {
      csrf: sessions.formToken(request, reply, binding(action, step)),
      ...(transaction !== undefined && { transaction }),
      ...(returnTo && { destination: returnTo.value }),
    };
  }

  /** @param failed the factor that was refused; `missing` if the form was empty */
  async function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    step: Step,
    failed: Factor | 'missing' | 'tampered' | undefined,
    status: number,
  ): Promise<FastifyReply> {
    const { user, continuation, pending, reference } = step;
    const enrolled = await store.secondFactors.list(user.sub);
    const offered = factors.map(async ({ id, begin }): Promise<Method[]> => {
      const view = await begin({ request, reply, user }, enrolled);
      return view ? [{ ...view, id }] : [];
    });
    const methods = (await Promise.all(offered)).flat();
    const data: Pages['login-second-factor'] = {
      account: accountView(user),
      form: { action: path, hidden: hiddenFields(request, reply, path, step) },
      methods,
      restartUri: signInPath('/login', continuation),
      problem: failed === 'tampered' ? failed : failed && problemOf(methods, failed),
    };
    if (pending?.client) data.client = pending.client;
    if (reference !== undefined) data.reference = reference;
    if (maySpare(step)) data.spare = { days: config.rememberSecondFactor, chosen: step.spareNext ?? false };
    return pages.send(request, reply, 'login-second-factor', data, pageOptions(path, step, status));
  }

  function enrol(
    request: FastifyRequest,
    reply: FastifyReply,
    step: Step,
    { page, data, hidden }: EnrolmentView,
    status: number,
  ): FastifyReply {
    const { user, continuation, pending } = step;
    const action = enrolment.path;
    const shown: Pages[typeof page] = {
      ...data,
      account: accountView(user),
      form: { action, hidden: { ...hiddenFields(request, reply, action, step), ...hidden } },
      signIn: pending?.client ? { client: pending.client } : {},
      backUri: signInPath('/login', continuation),
    };
    return pages.send(request, reply, page, shown, pageOptions(action, step, status));
  }
}

/** The second factor that a sign-in adds for a user who needs one. */
function enrolmentOf(authenticators: readonly Authenticator[]): SignInEnrolment {
  const [first] = authenticators.flatMap(({ enrolment }) => enrolment?.signIn ?? []);
  if (!first) throw new Error('no authenticator can be enrolled within a sign-in');
  return first;
}

/** The method of the page that failed; for an empty form the first method with a code. */
const problemOf = (methods: Method[], failed: Factor | 'missing'): Method | undefined =>
  (failed === 'missing' ? methods.find(({ input }) => input) : methods.find(({ id }) => id === failed.id)) ??
  methods[0];

const pageOptions = (path: SignInEnrolment['path'], { continuation, pending }: Step, status: number) => ({
  status,
  here: signInPath(path, continuation),
  uiLocales: pending?.uiLocales,
});
