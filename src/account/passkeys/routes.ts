// The page of one's passkeys: adds one, calls one otherwise, removes one.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { randomId } from '../../crypto/secrets.ts';
import { ownAct } from '../account-pages.ts';
import { authenticatorName } from '../../authenticators/passkey/passkey-name.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { ownPasskeys } from '../../pages/return-to.ts';
import { onlyForms } from '../../server/form-body.ts';
import { freshSignInPath, isFresh } from '../../browser/recent-sign-in.ts';
import { accountView } from '../../pages/page-response.ts';
import { readParameters, singleValued, text } from '../../server/parameters.ts';
import { longestCredential, mostPasskeys } from '../../authenticators/passkey/passkeys.ts';
import { findPendingRequest } from '../../interaction/pending-request-view.ts';
import { signInPath, wayOn } from '../../interaction/sign-in.ts';
import type { ClientView, FormView, Pages } from '../../pages/views/index.ts';
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';
import { createAdministration } from '../../repositories/administration/administration.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { Passkeys } from '../../authenticators/passkey/passkeys.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { SecondFactors } from '../../authenticators/second-factors.ts';
import type { SignIn } from '../../interaction/sign-in.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { FindPendingRequestDependencies } from '../../interaction/pending-request-view.ts';

const path = '/account/passkeys';

const id = text(64);
const longestName = 60; // characters
const csrf = text(100);
const addition = z.object({
  csrf,
  transaction: text(100).optional(),
  credential: text(longestCredential).optional(),
});
const renaming = z.object({ csrf, passkey: id, name: text(1000).optional() });
const removal = z.object({ csrf, passkey: id });

type Page = Pages['account-passkeys'];
/** The request that goes on once there is a passkey, and whose it is. */
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
  secondFactors: SecondFactors;
  signIn: SignIn;
  pages: PageResponses;
};

export async function accountPasskeysEndpoint(
  app: FastifyInstance,
  options: AccountPasskeysDependencies,
): Promise<void> {
  const { config, store, passkeys, secondFactors, sessions, signIn, pages } = options;
  const administration = createAdministration(store);
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get(path, async (request, reply) => {
    onlyNavigation(request);
    const session = await sessions.find(request, reply);
    if (!session) return pages.redirect(reply, freshSignInPath(session, ownPasskeys));
    const { done, transaction } = singleValued(request.query);
    const state = notices.includes(done ?? '') ? { done: done as Page['done'] } : {};
    return show(request, reply, session, state, 200, await waitingFor(request, transaction));
  });

  app.post(path, async (request, reply) => {
    const { csrf, credential, transaction } = readParameters(addition, request.body);
    const waiting = await waitingFor(request, transaction);
    const session = await submitted(request, reply, csrf, path, transaction);
    // a browser that was left open lets nobody in for good
    if (!session || !isFresh(session)) return pages.redirect(reply, freshSignInPath(session, ownPasskeys));
    const answer = await passkeys.checkMade(request, credential ?? '', session);
    if (answer.outcome !== 'made')
      return show(
        request,
        reply,
        session,
        { problem: answer.outcome === 'wrong' ? 'refused' : 'expired' },
        400,
        waiting,
      );
    const { sub } = session.user;
    const name = authenticatorName(answer.credential.aaguid, request.headers['user-agent']);
    const passkey = { id: randomId(), ...answer.credential, sub, name };
    const codes = await store.transaction(async (repositories) => {
      if (!(await repositories.users.lock(sub)) || !(await repositories.passkeys.insert(passkey, mostPasskeys)))
        return undefined;
      return secondFactors.added(request, repositories, sub, { id: passkey.id, kind: 'passkey', name });
    });
    if (!codes) return show(request, reply, session, { problem: 'known' }, 409, waiting);
    // that it signs is seen at the next sign-in only: without attestation it said no more than its public key
    await signIn.strengthen(request, reply, session, 'user');
    const continueUri = waiting ? wayOn(waiting) : `${path}?done=added`;
    if (codes.length === 0) return pages.redirect(reply, continueUri);
    // it is asked for after a password from now on: what stands for it when it is lost is shown once
    const account = accountView(session.user);
    return pages.send(request, reply, 'account-recovery-codes', { account, codes, issuer: config.issuer, continueUri });
  });

  app.post(`${path}/rename`, async (request, reply) => {
    const { csrf, passkey, name = '' } = readParameters(renaming, request.body);
    const session = await submitted(request, reply, csrf, `${path}/rename`);
    if (!session) return pages.redirect(reply, freshSignInPath(session, ownPasskeys));
    const renamed = await store.passkeys.rename(session.user.sub, passkey, nameOf(name));
    return pages.redirect(reply, renamed ? `${path}?done=renamed` : path);
  });

  app.post(`${path}/remove`, async (request, reply) => {
    const { csrf, passkey } = readParameters(removal, request.body);
    const session = await submitted(request, reply, csrf, `${path}/remove`);
    if (!session || !isFresh(session)) return pages.redirect(reply, freshSignInPath(session, ownPasskeys));
    try {
      await administration.removeSecondFactor(ownAct(request, session), session.user.sub, passkey, true);
    } catch (error) {
      if (!(error instanceof OAuthError) || !['conflict', 'not_found'].includes(error.code)) throw error;
      if (error.code === 'conflict') return show(request, reply, session, { problem: 'last' }, 409);
      // somebody else's, or gone already: the page shows those that there are
      return pages.redirect(reply, path);
    }
    return pages.redirect(reply, `${path}?done=removed`);
  });

  /** The session whose page a form came from; undefined for nobody signed in. @throws OAuthError for another form */
  async function submitted(
    request: FastifyRequest,
    reply: FastifyReply,
    csrf: string,
    action: string,
    transaction?: string,
  ) {
    const session = await sessions.find(request, reply);
    if (session && !sessions.isOwnForm(request, csrf, { action, session, transaction }))
      throw invalidRequest('the form is too old or came from elsewhere');
    return session;
  }

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
      signInUri: waiting ? signInPath('/login', waiting) : freshSignInPath(session, ownPasskeys),
      renameForm: form(`${path}/rename`),
      removeForm: form(`${path}/remove`),
      securityUri: '/account/security',
      ...state,
    };
    const addable = closed === undefined || closed === 'stale';
    if (addable && session.user.passwordHash !== undefined) {
      const standing = await store.secondFactors.standing(session.user.sub);
      if (standing?.enrolled === false) data.first = true;
    }
    if (waiting?.client) data.client = waiting.client;
    if (closed) data.closed = closed;
    else
      data.add = {
        form: form(path, waiting?.transaction),
        options: await passkeys.creationOptions(request, reply, session),
      };
    return pages.send(request, reply, 'account-passkeys', data, { status });
  }

  /** The request of this browser that takes a passkey to go on. */
  async function waitingFor(request: FastifyRequest, transaction: string | undefined): Promise<Waiting | undefined> {
    if (transaction === undefined || transaction.length > 100) return undefined;
    const pending = await findPendingRequest(options, request, transaction);
    return pending && { transaction, client: pending.client };
  }

  function closedBecause(session: Session, count: number): Page['closed'] {
    if (!passkeys.available) return 'address';
    if (count >= mostPasskeys) return 'full';
    return isFresh(session) ? undefined : 'stale';
  }
}

/** As much as is stored, in whole characters. */
const nameOf = (typed: string): string => [...typed.normalize('NFC').trim()].slice(0, longestName).join('');
