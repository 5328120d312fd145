// Shows the user's second factors, adds and removes them, and renews the recovery codes; changes need a recent sign-in.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createAccountPages } from '../account-pages.ts';
import { mayAddFirstFactor, recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import type { FormOutcomes } from '../../browser/form-outcomes.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import { newAuthenticator, secondFactors as factorsPage } from '../../pages/return-to.ts';
import { accountView, type PageResponses } from '../../pages/page-response.ts';
import { singleValued, textFields } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { unlessGone } from '../../pages/refused-operations.ts';
import type { Authenticator, Enrolment, EnrolmentView, SignInEnrolment } from '../../authenticators/authenticator.ts';
import type { SecondFactorEnrolment } from '../../authenticators/enrolment.ts';
import type { Pages } from '../../pages/views/index.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import { guardedGroups } from '../../domain/administration/guarded-groups.ts';
import type { SecondFactor } from '../../repositories/second-factors/second-factors.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { recoveryCodeCount } from '../../tokens/recovery-code.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { SignIn } from '../../interaction/sign-in.ts';

const removal = z.object({ remove: text(100) });

const notices: readonly string[] = ['added', 'removed', 'needed'];

interface AccountSecondFactorsDependencies {
  config: Config;
  store: Store;
  sessions: BrowserSessions;
  formOutcomes: FormOutcomes;
  authenticators: readonly Authenticator[];
  secondFactorEnrolment: SecondFactorEnrolment;
  totpEnrolment: SignInEnrolment;
  signIn: SignIn;
  pages: PageResponses;
}

export async function accountSecondFactorsEndpoint(
  app: FastifyInstance,
  options: AccountSecondFactorsDependencies,
): Promise<void> {
  const { config, store, authenticators, secondFactorEnrolment, totpEnrolment, sessions, signIn, pages } = options;
  const { formOutcomes } = options;
  const administration = createAdministration(store);
  const enrolments = authenticators.flatMap(({ id: kind, enrolment }) => (enrolment ? [{ kind, ...enrolment }] : []));
  const totp = enrolments.filter(({ path }) => path === newAuthenticator.path);
  const overview = createAccountPages(options, { returnTo: factorsPage });
  const changes = createAccountPages(options, { returnTo: factorsPage, recent: true });
  const enrolment = createAccountPages(options, {
    returnTo: newAuthenticator,
    recent: (session) => recentlyAuthenticated(session) || mayAddFirstFactor(session, guardedGroups(config)),
  });

  overview.page(app, factorsPage.path, async (own, request, reply) => {
    const { user } = own.session;
    const [factors, left] = await Promise.all([
      store.secondFactors.list(user.sub),
      store.recoveryCodes.count(user.sub),
    ]);
    const data: Pages['account-second-factors'] = {
      account: accountView(user),
      factors: factors
        .filter(({ kind }) => enrolments.some((one) => one.kind === kind && !one.separate))
        .map(({ id, kind, name, createdAt, usedAt }) => ({ id, kind, name, createdAt, ...(usedAt && { usedAt }) })),
      pages: enrolments
        .filter(({ separate }) => separate)
        .map(({ kind, path: uri }) => ({ kind, uri, count: countOf(factors, kind) })),
      add: addable(enrolments, factors).map(({ kind, path: uri }) => ({ kind, uri })),
      form: own.form(factorsPage.path),
      securityUri: '/account/security',
    };
    if (factors.length > 0)
      data.recoveryCodes = { left, all: recoveryCodeCount, form: own.form('/account/recovery-codes') };
    const { done } = singleValued(request.query);
    if (done !== undefined && notices.includes(done)) data.done = done as typeof data.done & string;
    return pages.send(request, reply, 'account-second-factors', data, { here: factorsPage.path });
  });

  changes.form(app, factorsPage.path, removal, async ({ session, by }, { remove }, _request, reply) => {
    // the page says nothing about a factor that no longer exists or belongs to another user
    await administration.removeSecondFactor(by, session.user.sub, remove, true).catch(unlessGone);
    return pages.redirect(reply, `${factorsPage.path}?done=removed`);
  });

  enrolment.page(app, newAuthenticator.path, async ({ session }, request, reply) => {
    if (addable(totp, await store.secondFactors.list(session.user.sub)).length === 0)
      return pages.redirect(reply, factorsPage.path);
    return setUp(request, reply, session, totpEnrolment.begin(session.user), 200);
  });

  const newTotp = textFields(totpEnrolment.fields);
  enrolment.form(app, newAuthenticator.path, newTotp, async ({ session }, fields, request, reply) => {
    const result = await formOutcomes.once<{ codes: string[] }>(request, async () => {
      const added = await totpEnrolment.finish(request, session.user, fields);
      if (added.outcome === 'refused') return { refused: () => setUp(request, reply, session, added.view, 400) };
      await signIn.strengthen(request, reply, session, ...added.amr);
      return { codes: added.recoveryCodes };
    });
    if ('refused' in result) return result.refused();
    const { made, again } = result;
    if (again) await sessions.repeat(request, reply);
    return made.codes.length > 0
      ? showCodes(request, reply, session, made.codes, 'added')
      : pages.redirect(reply, `${factorsPage.path}?done=added`);
  });

  changes.form(app, '/account/recovery-codes', z.object({}), async ({ session }, _typed, request, reply) => {
    const result = await formOutcomes.once<{ codes: string[] }>(request, async () => {
      const codes = await secondFactorEnrolment.renewRecoveryCodes(request, session.user.sub);
      return codes.length > 0 ? { codes } : { refused: () => pages.redirect(reply, factorsPage.path) };
    });
    return 'refused' in result ? result.refused() : showCodes(request, reply, session, result.made.codes);
  });

  function setUp(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    { page, data, hidden }: EnrolmentView,
    status: number,
  ): FastifyReply {
    const action = newAuthenticator.path;
    const csrf = sessions.formToken(request, reply, { action, session });
    const form = { action, hidden: { csrf, ...hidden } };
    const account = accountView(session.user);
    return pages.send(
      request,
      reply,
      page,
      { ...data, account, form, backUri: factorsPage.path },
      { status, here: action },
    );
  }

  function showCodes(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    codes: string[],
    done?: 'added',
  ): FastifyReply {
    return pages.send(request, reply, 'account-recovery-codes', {
      account: accountView(session.user),
      codes,
      issuer: config.issuer,
      continueUri: factorsPage.path + (done === undefined ? '' : `?done=${done}`),
    });
  }
}

const countOf = (factors: readonly SecondFactor[], kind: string): number =>
  factors.filter((factor) => factor.kind === kind).length;

/** The kinds without a page of their own of which the user may have another one. */
const addable = (enrolments: readonly (Enrolment & { kind: string })[], factors: readonly SecondFactor[]) =>
  enrolments.filter(({ kind, max, separate }) => !separate && countOf(factors, kind) < max);
