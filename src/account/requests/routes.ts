// Serves GET|POST /account/requests: a user sees what clients ask by backchannel requests, and answers each (OpenID Connect CIBA Core 8, security R143).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type AccountSession, createAccountPages } from '../account-pages.ts';
import { lacksSecondFactor } from '../../browser/recent-sign-in.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import { decide as nextStep, type NextStep } from '../../interaction/next-step.ts';
import type { SecondStep } from '../../interaction/second-step.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { cibaGrant, grantTypeOf, isOffered } from '../../oauth/registrable-values.ts';
import { isServiceScopeOf } from '../../oauth/scope.ts';
import { apiView } from '../../pages/api-view.ts';
import { detailView } from '../../pages/detail-view.ts';
import { scopeView } from '../../pages/claim-text.ts';
import { type PageResponses, remoteClientView } from '../../pages/page-response.ts';
import { ownRequests } from '../../pages/return-to.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';
import { mayUse, wayOf } from '../../rules/access/access.ts';
import { admitsUsers } from '../../rules/clients/redirect-addresses.ts';
import { resourceGrants } from '../../sender-constraint/audience.ts';
import { checkedDetails, detailAcrs, findTargetsOf } from '../../sender-constraint/authorization-details.ts';
import { clientAddress } from '../../server/network.ts';
import { onlyWhere } from '../../server/switched-off.ts';
import { approve, type Decider, deny, type Shown } from './decide.ts';

const { path } = ownRequests;
const denyPath = '/account/requests/deny';
/** The most requests that the page shows; the next ones follow when these are answered. */
const most = 20;

const notices = { allow: 'request-allowed', deny: 'request-denied' } as const;

const answer = z.object({ request: z.uuid(), decision: z.enum(['allow', 'deny']) });
/** The ids of the requests that the page showed, separated by spaces. */
const denial = z.object({ requests: z.string().max(1000) });

interface AccountRequestsDependencies {
  config: Config;
  store: Store;
  sessions: BrowserSessions;
  secondStep: SecondStep;
  pages: PageResponses;
}

export async function accountRequestsEndpoint(
  app: FastifyInstance,
  options: AccountRequestsDependencies,
): Promise<void> {
  const { config, store, sessions, secondStep, pages } = options;
  const account = createAccountPages(options, { returnTo: ownRequests });
  onlyWhere(app, isOffered(config, grantTypeOf(cibaGrant)), 'this service does not offer backchannel authentication');

  account.page(app, path, (own) => show(own));

  account.form(app, path, answer, async (own, { request: id, decision }, request, reply) => {
    const found = (await find(own.session)).find(({ asked }) => asked.id === id);
    const by = decider(own, request, `${decision} ${id}`);
    if (!found) return answered(own, by, decision);
    if (decision === 'deny')
      return (await deny(options, [found.asked], by)) > 0 ? own.done(path, notices.deny) : answered(own, by, decision);
    const step = stepFor(config, own.session, found, request);
    if (step === 'second-factor') {
      // the second step must be that of the session's user
      secondStep.close(request, reply);
      return pages.redirect(reply, signInPath('/login/second-factor', { returnTo: ownRequests }));
    }
    if (step === 'error' || step === 'access-denied') return show(own, 'unmet');
    const outcome = step === 'consent' ? await approve(options, found, by) : 'unconfirmed';
    if (outcome === 'gone') return answered(own, by, decision);
    return outcome === 'unconfirmed' ? signInAgain(reply) : own.done(path, notices.allow);
  });

  account.form(app, denyPath, denial, async (own, { requests }, request) => {
    const ids = new Set(requests.split(' '));
    const shown = (await find(own.session)).flatMap(({ asked }) => (ids.has(asked.id) ? [asked] : []));
    const by = decider(own, request, 'deny');
    return (await deny(options, shown, by)) > 0 ? own.done(path, notices.deny) : answered(own, by, 'deny');
  });

  const decider = ({ session }: AccountSession, request: FastifyRequest, decided: string): Decider => ({
    session,
    address: clientAddress(request),
    log: request.log,
    formHash: sessions.formHash(request, decided),
  });

  /** Answers a form whose request no longer waits: with the same decision, if a double click sent it twice. */
  const answered = async (own: AccountSession, { formHash }: Decider, decision: 'allow' | 'deny') =>
    (await store.usedForms.isKept(formHash)) ? own.done(path, notices[decision]) : show(own, 'gone');

  const signInAgain = (reply: FastifyReply) => pages.redirect(reply, signInPath('/login', { returnTo: ownRequests }));

  /** The requests that wait, with what the page shows of each. */
  async function find({ user }: Session): Promise<Shown[]> {
    const waiting = await store.backchannelRequests.waiting(user.sub, most);
    const found = await Promise.all(
      waiting.map(async (asked) => {
        // not from the cache: the user allows the version that the page shows
        const client = await store.clients.find(asked.clientId);
        if (!client || !admitsUsers(client)) return [];
        const of = { client, resource: asked.resources?.join(' '), scope: asked.scope };
        try {
          const details = asked.details.length === 0 ? [] : await checkedDetails(store, client, asked.details);
          return [{ asked, client, targets: await findTargetsOf(store, config.issuer, of, details), details }];
        } catch (error) {
          // a resource or a type of details ended since: the request expires unanswered
          if (error instanceof OAuthError) return [];
          throw error;
        }
      }),
    );
    return found.flat();
  }

  async function show(own: AccountSession, problem?: Pages['account-requests']['problem']): Promise<FastifyReply> {
    const { user } = own.session;
    const found = await find(own.session);
    const denyForm = own.form(denyPath);
    return own.send(
      'account-requests',
      {
        requests: found.map(({ asked, client, targets, details }) => ({
          id: asked.id,
          client: remoteClientView(client),
          ...(asked.message !== undefined && { message: asked.message }),
          scopes: asked.scope.filter(isServiceScopeOf(client)).map((scope) => scopeView(user, client, scope)),
          apis: targets.flatMap(({ api, scope }) => (api && scope.length > 0 ? [apiView(api, scope)] : [])),
          ...(details.length > 0 && { details: details.map((one) => detailView(one)) }),
          requestedAt: asked.createdAt,
          expiresAt: asked.expiresAt,
        })),
        form: own.form(path),
        ...(found.length > 1 && {
          denyForm: {
            ...denyForm,
            hidden: { ...denyForm.hidden, requests: found.map(({ asked }) => asked.id).join(' ') },
          },
        }),
        ...(problem && { problem }),
      },
      { status: problem === undefined ? 200 : problem === 'gone' ? 409 : 403 },
    );
  }
}

/** What the session still needs for an approval: a sign-in after the request was made, with the second factor of a user who has one. No earlier grant counts. */
function stepFor(
  { secondFactor }: Pick<Config, 'secondFactor'>,
  session: Session,
  { asked, client, targets, details }: Shown,
  request: FastifyRequest,
): NextStep['step'] {
  const from = { address: clientAddress(request) };
  const { step } = nextStep(
    {
      session,
      grant: undefined,
      client: { firstParty: false, selfRegistered: false, requiredAcr: client.requiredAcr },
      access: mayUse(session.user, client, { from, by: wayOf(session) }),
      secondFactor,
      passkeys: 'unavailable',
      transaction: { createdAt: asked.createdAt, decision: undefined },
    },
    {
      prompts: ['login'],
      maxAge: undefined,
      expectedSubs: undefined,
      scope: asked.scope.filter(isServiceScopeOf(client)),
      resources: resourceGrants(targets),
      resourceAcrs: [...targets.flatMap(({ api }) => api?.requiredAcr ?? []), ...detailAcrs(details)],
      claims: [],
      redirectUri: '',
      acr: { values: asked.acrValues, essential: false },
    },
  );
  return step === 'consent' && lacksSecondFactor(session) ? 'second-factor' : step;
}
