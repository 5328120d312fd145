// Serves GET|POST /account/password, which changes the user's password, ends other sessions, and gives this one a new cookie.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type PasswordQueue, PasswordQueueFull } from '../../domain/rate-limits/password-queue.ts';
import { type AccountSession, createAccountPages } from '../account-pages.ts';
import type { FormOutcomes, Refused } from '../../browser/form-outcomes.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import { ownPassword } from '../../pages/return-to.ts';
import { reauthenticationPath, lacksSecondFactor } from '../../browser/recent-sign-in.ts';
import { accountView, type PageResponses } from '../../pages/page-response.ts';
import { text } from '../../oauth/text.ts';
import type { Pages } from '../../pages/views/index.ts';
import { normalizedPassword } from '../../crypto/password-hashing.ts';
import { maxPasswordLength, password as passwordShape } from '../../rules/users/administration.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { PasswordPolicy } from '../../domain/passwords/password-policy.ts';
import type { CheckPassword } from '../../authenticators/password/check.ts';
import type { DeviceCookies } from '../../browser/device-cookie.ts';
import { auditFailedSignIn, type AuditTrail } from '../../server/audit.ts';

const path = ownPassword.path;

const change = z.object({
  current_password: text(4096).optional(),
  new_password: text(4096).optional(),
});

/** The faults or limits that prevent a change; `wait` in seconds. */
type Trouble = Pick<Pages['account-password'], 'faults' | 'pause' | 'wait' | 'reference'>;

interface AccountPasswordDependencies {
  config: Config;
  store: Store;
  passwords: PasswordQueue;
  passwordPolicy: PasswordPolicy;
  checkPassword: CheckPassword;
  deviceCookies: DeviceCookies;
  sessions: BrowserSessions;
  formOutcomes: FormOutcomes;
  pages: PageResponses;
  audit: AuditTrail;
}

export async function accountPasswordEndpoint(
  app: FastifyInstance,
  options: AccountPasswordDependencies,
): Promise<void> {
  const { config, store, checkPassword, passwords, passwordPolicy, deviceCookies, sessions, formOutcomes } = options;
  const { pages, audit } = options;
  const administration = createAdministration(store);
  const shape = passwordShape(config.passwordMinLength);
  const account = createAccountPages(options, { isRepeated: formOutcomes.isRepeated });

  account.page(app, path, async ({ session }, request, reply) => {
    if (session.user.passwordHash === undefined) return pages.redirect(reply, '/account/security');
    if (lacksSecondFactor(session)) return pages.redirect(reply, reauthenticationPath(session, ownPassword));
    return show(request, reply, session, {}, 200);
  });

  account.form(app, path, change, async (own, typed, request, reply) => {
    const result = await formOutcomes.once(request, () => changePassword(own, typed, request, reply));
    if ('refused' in result) return result.refused();
    if (result.again) await sessions.repeat(request, reply);
    return pages.redirect(reply, result.made.next);
  });

  /** Changes the password. @returns the page that says so */
  async function changePassword(
    { session, by }: AccountSession,
    typed: z.infer<typeof change>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<{ next: string } | Refused> {
    const refused = (trouble: Trouble, status: number): Refused => ({
      refused: () => show(request, reply, session, trouble, status),
    });
    const paused = ({ outcome, wait }: { outcome: 'busy' | 'throttled'; wait: number }): Refused => {
      reply.header('retry-after', String(wait));
      return refused({ pause: outcome, wait }, outcome === 'busy' ? 503 : 429);
    };
    const { current_password: current, new_password: chosen } = typed;
    // a session by the password alone must not change the password once the user has a second factor
    if (lacksSecondFactor(session))
      return { refused: () => pages.redirect(reply, reauthenticationPath(session, ownPassword)) };
    const { user } = session;
    if (current === undefined || chosen === undefined) {
      const faults: Trouble['faults'] = {};
      if (current === undefined) faults.current = 'missing';
      if (chosen === undefined) faults.password = 'missing';
      return refused({ faults }, 400);
    }
    // with the limits of the sign-in (security R64)
    const answer = await checkPassword(request, user.username, current);
    if (answer.outcome === 'throttled' || answer.outcome === 'busy') return paused(answer);
    // the username may now belong to another user
    if (answer.outcome === 'wrong' || answer.user.sub !== user.sub) {
      const isOwn = answer.outcome === 'wrong' && answer.sub === user.sub;
      const detail = { reason: isOwn ? answer.reason : 'wrong_password' };
      const reference = await auditFailedSignIn(audit, request, { sub: user.sub, detail });
      return refused({ faults: { current: 'wrong' }, reference }, 400);
    }
    const fault = normalizedPassword(chosen) === normalizedPassword(current) ? 'same' : await faultOf(chosen, user);
    const passwordHash = fault
      ? undefined
      : await passwords.acquire((slot) => slot.hash(chosen), { first: true }).catch(unlessBusy);
    if (passwordHash === undefined) {
      // the present password was right: the count of this browser is reset, as after a sign-in
      await deviceCookies.remember(request, reply, user.sub);
      return fault ? refused({ faults: { password: fault } }, 400) : paused({ outcome: 'busy', wait: 5 });
    }
    // the cookie first: if the process ends here, the old cookie must not outlive the old password (security R52);
    // no second factor was shown: the level of the session keeps its age; and a session by a connection lasts no longer than that allows
    const keepsAge = session.amr.includes('mfa') || session.upstream !== undefined;
    const kept = keepsAge ? { amr: session.amr, authTime: session.authTime } : { amr: ['pwd'] };
    const renewed = await sessions.renew(request, reply, { ...answer.user, ...kept }, session);
    const own = { replaces: answer.user.passwordHash, keepSession: session.id };
    // another change, or the end of the account or the session, came first
    if (!renewed || !(await administration.changeUser(by, user.sub, {}, passwordHash, own).catch(unlessOvertaken)))
      return { refused: () => pages.redirect(reply, '/login') };
    await deviceCookies.remember(request, reply, user.sub);
    return { next: '/account/security?done=password-changed' };
  }

  /** Why a password may not be chosen (security R59). */
  async function faultOf(chosen: string, user: Session['user']): Promise<'length' | 'common' | undefined> {
    if (!shape.safeParse(chosen).success) return 'length';
    try {
      await passwordPolicy(chosen, user);
      return undefined;
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return 'common';
    }
  }

  /** Shows the form again, without the passwords. */
  function show(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    trouble: Trouble,
    status: number,
  ): FastifyReply {
    const data: Pages['account-password'] = {
      account: accountView(session.user),
      username: session.user.username,
      form: { action: path, hidden: { csrf: sessions.formToken(request, reply, { action: path, session }) } },
      least: config.passwordMinLength,
      most: maxPasswordLength,
      securityUri: '/account/security',
      ...trouble,
    };
    return pages.send(request, reply, 'account-password', data, { status, here: path });
  }
}

function unlessBusy(error: unknown): undefined {
  if (!(error instanceof PasswordQueueFull)) throw error;
}

function unlessOvertaken(error: unknown): undefined {
  if (!(error instanceof OAuthError) || !['conflict', 'not_found'].includes(error.code)) throw error;
}
