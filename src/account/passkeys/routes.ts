// Shows the user's passkeys, and adds, renames and removes them.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createAccountPages } from '../account-pages.ts';
import { storePasskey } from '../../authenticators/passkey/enrolment.ts';
import type { FormOutcomes } from '../../browser/form-outcomes.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { ownPasskeys } from '../../pages/return-to.ts';
import { mayAddFirstFactor, reauthenticationPath, recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import { accountView, type PageResponses } from '../../pages/page-response.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { maxCredentialLength, maxPasskeys, type Passkeys } from '../../authenticators/passkey/passkeys.ts';
import { findPendingRequest, type FindPendingRequestDependencies } from '../../interaction/pending-request-view.ts';
import { continuationPath, type SignIn, signInPath } from '../../interaction/sign-in.ts';
import type { ClientView, FormView, Pages } from '../../pages/views/index.ts';
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import { guardedGroups } from '../../domain/administration/guarded-groups.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { SecondFactorEnrolment } from '../../authenticators/enrolment.ts';

const path = '/account/passkeys';

const id = text(64);
const maxName = 60; // characters
const csrf = text(100);
const addition = z.object({
  csrf,
  transaction: text(100).optional(),
  credential: text(maxCredentialLength).optional(),
});
const renaming = z.object({ passkey: id, name: text(1000).optional() });
const removal = z.object({ passkey: id });

type Page = Pages['account-passkeys'];
/** The authorization request that waits for a passkey. */
interface Waiting {
  transaction: string;
  client: ClientView | undefined;
}
const notices: readonly string[] = ['added', 'renamed', 'removed'] satisfies Page['done'][];

type AccountPasskeysDependencies = FindPendingRequestDependencies & {
  config: Config;
  store: Store;
  passkeys: Passkeys;
  sessions: BrowserSessions;
  formOutcomes: FormOutcomes;
  secondFactorEnrolment: SecondFactorEnrolment;
  signIn: SignIn;
  pages: PageResponses;
};

export async function accountPasskeysEndpoint(
  app: FastifyInstance,
  options: AccountPasskeysDependencies,
): Promise<void> {
  const { config, store, passkeys, secondFactorEnrolment, sessions, formOutcomes, signIn, pages } = options;
  const administration = createAdministration(store);
  const names = createAccountPages(options, { returnTo: ownPasskeys });
  const removals = createAccountPages(options, { returnTo: ownPasskeys, recent: true });

  const mayAdd = (session: Session) =>
    recentlyAuthenticated(session) || mayAddFirstFactor(session, guardedGroups(config));

  app.get(path, async (request, reply) => {
    onlyNavigation(request);
    const session = await sessions.find(request, reply);
    if (!session) return pages.redirect(reply, reauthenticationPath(session, ownPasskeys));
    const { done, transaction } = singleValued(request.query);
    const state = notices.includes(done ?? '') ? { done: done as Page['done'] } : {};
    return show(request, reply, session, state, 200, await waitingFor(request, transaction));
  });

  app.post(path, async (request, reply) => {
    const { csrf, credential, transaction } = readParameters(addition, request.body);
    const waiting = await waitingFor(request, transaction);
    const session = (await sessions.find(request, reply)) ?? (await sessions.findRepeated(request, reply));
    if (session && !sessions.isOwnForm(request, csrf, { action: path, session, transaction }))
      throw invalidRequest('the form has expired or came from another site');
    // an unattended browser must not enrol a passkey of another person
    if (!session || !mayAdd(session)) return pages.redirect(reply, reauthenticationPath(session, ownPasskeys));
    const result = await formOutcomes.once<{ codes: string[] }>(request, async () => {
      const added = await add(request, session, credential ?? '');
      if (typeof added === 'string')
        return {
          refused: () => show(request, reply, session, { problem: added }, added === 'known' ? 409 : 400, waiting),
        };
      // without attestation a new passkey has shown its public key only: it counts as a factor from the next sign-in on
      await signIn.strengthen(request, reply, session, 'user');
      return { codes: added };
    });
    if ('refused' in result) return result.refused();
    if (result.again) await sessions.repeat(request, reply);
    const { codes } = result.made;
    const continueUri = waiting ? continuationPath(waiting) : `${path}?done=added`;
    if (codes.length === 0) return pages.redirect(reply, continueUri);
    // a sign-in by password now asks for the passkey: the page shows once the recovery codes that replace it
    const account = accountView(session.user);
    return pages.send(request, reply, 'account-recovery-codes', { account, codes, issuer: config.issuer, continueUri });
  });

  /** Stores a new passkey. @returns the recovery codes that come with it, or the problem */
  async function add(
    request: FastifyRequest,
    session: Session,
    credential: string,
  ): Promise<string[] | NonNullable<Page['problem']>> {
    const answer = await passkeys.checkMade(request, credential, signInOf(session));
    if (answer.outcome !== 'made') return answer.outcome === 'wrong' ? 'refused' : 'expired';
    const { sub } = session.user;
    const codes = await store.transaction(async (repositories) => {
      if (!(await repositories.users.lock(sub))) return undefined;
      return storePasskey(secondFactorEnrolment, request, repositories, sub, answer.credential);
    });
    return codes ?? 'known';
  }

  names.form(app, `${path}/rename`, renaming, async ({ session }, { passkey, name = '' }, _request, reply) => {
    const renamed = await store.passkeys.rename(session.user.sub, passkey, nameOf(name));
    return pages.redirect(reply, renamed ? `${path}?done=renamed` : path);
  });

  removals.form(app, `${path}/remove`, removal, async ({ session, by }, { passkey }, request, reply) => {
    try {
      await administration.removeSecondFactor(by, session.user.sub, passkey, true);
    } catch (error) {
      if (!(error instanceof OAuthError) || !['conflict', 'not_found'].includes(error.code)) throw error;
      if (error.code === 'conflict') return show(request, reply, session, { problem: 'last' }, 409);
      // the passkey belongs to another user, or is already removed
      return pages.redirect(reply, path);
    }
    return pages.redirect(reply, `${path}?done=removed`);
  });

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    state: Pick<Page, 'problem' | 'done'>,
    status = 200,
    waiting?: Waiting,
  ): Promise<FastifyReply> {
    const form = (action: string, transaction?: string): FormView => ({
      action,
      hidden: {
        csrf: sessions.formToken(request, reply, { action, session, transaction }),
        ...(transaction !== undefined && { transaction }),
      },
    });
    const present = await store.passkeys.list(session.user.sub);
    const closed = closedBecause(session, present.length);
    const data: Page = {
      account: accountView(session.user),
      passkeys: present.map((passkey) => ({
        id: passkey.id,
        name: passkey.name,
        madeAt: passkey.createdAt,
        ...(passkey.usedAt && { usedAt: passkey.usedAt }),
        synced: passkey.backedUp,
      })),
      signInUri: waiting ? signInPath('/login', waiting) : reauthenticationPath(session, ownPasskeys),
      renameForm: form(`${path}/rename`),
      removeForm: form(`${path}/remove`),
      securityUri: '/account/security',
      ...state,
    };
    const addable = closed === undefined || closed === 'stale';
    if (addable && session.user.passwordHash !== undefined) {
      const mfaStatus = await store.secondFactors.mfaStatus(session.user.sub);
      if (mfaStatus?.enrolled === false) data.first = true;
    }
    if (waiting?.client) data.client = waiting.client;
    if (closed) data.closed = closed;
    else
      data.add = {
        form: form(path, waiting?.transaction),
        options: await passkeys.creationOptions(request, reply, session.user, signInOf(session)),
      };
    return pages.send(request, reply, 'account-passkeys', data, {
      status,
      here: waiting ? `${path}?transaction=${waiting.transaction}` : path,
    });
  }

  /** The pending request of this browser. */
  async function waitingFor(request: FastifyRequest, transaction: string | undefined): Promise<Waiting | undefined> {
    if (transaction === undefined || transaction.length > 100) return undefined;
    const pending = await findPendingRequest(options, request, transaction);
    return pending && { transaction, client: pending.client };
  }

  function closedBecause(session: Session, count: number): Page['closed'] {
    if (passkeys.unavailable) return passkeys.unavailable;
    if (count >= maxPasskeys) return 'full';
    return mayAdd(session) ? undefined : 'stale';
  }
}

/** The sign-in to which a form that adds a passkey is bound: a new sign-in invalidates older forms. */
const signInOf = ({ sid, authTime }: Session): string => `${sid} ${authTime.getTime()}`;

/** The part of a name that is stored, in whole characters. */
const nameOf = (typed: string): string => [...typed.normalize('NFC').trim()].slice(0, maxName).join('');
