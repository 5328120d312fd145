// Serves GET|POST /device: a user enters the code of a device, sees what its application asks for, and decides (RFC 8628 section 3.3, security R143).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import { admitsUsers } from '../../rules/clients/redirect-addresses.ts';
import { decide, type NextStep } from '../../interaction/next-step.ts';
import type { SecondStep } from '../../interaction/second-step.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import { type AccessRefusal, mayUse, wayOf } from '../../rules/access/access.ts';
import { deviceGrant, grantTypeOf, isOffered } from '../../oauth/registrable-values.ts';
import { isServiceScopeOf } from '../../oauth/scope.ts';
import { notAdmitted, refusedReason } from '../../pages/access-reason.ts';
import { apiView } from '../../pages/api-view.ts';
import {
  type AskedDetail,
  checkedDetails,
  detailAcrs,
  findTargetsOf,
} from '../../sender-constraint/authorization-details.ts';
import { resourceGrants, type Target } from '../../sender-constraint/audience.ts';
import { detailView } from '../../pages/detail-view.ts';
import { text } from '../../oauth/text.ts';
import { scopeView } from '../../pages/claim-text.ts';
import { accountView, type PageResponses, remoteClientView as shownClient } from '../../pages/page-response.ts';
import { devicePage } from '../../pages/return-to.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { DeviceAuthorization } from '../../repositories/device-authorizations/device-authorizations.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';
import { onlyForms } from '../../server/form-body.ts';
import { onlyWhere } from '../../server/switched-off.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';
import { readVerificationCode, verificationCodeHashes } from '../../tokens/verification-code.ts';
import { decideDevice } from './decide-device.ts';

const decisionForm = z.object({
  csrf: text(100).optional(),
  user_code: text(100),
  decision: z.enum(['allow', 'deny']),
});

const action = '/device';

/** A request that waits for the user. */
interface Waiting {
  code: string;
  device: DeviceAuthorization;
  client: Client;
  /** The resources that the request is for. */
  targets: readonly Target[];
  /** The authorization details that it asks for. */
  details: readonly AskedDetail[];
}

interface DeviceDependencies {
  config: Config;
  store: Store;
  secretBox: SecretBox;
  sessions: BrowserSessions;
  secondStep: SecondStep;
  pages: PageResponses;
  limits: Limits;
}

export async function deviceEndpoint(app: FastifyInstance, options: DeviceDependencies): Promise<void> {
  const { config, store, sessions, secondStep, pages, limits, secretBox } = options;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));
  onlyWhere(
    app,
    isOffered(config, grantTypeOf(deviceGrant)),
    'this service does not offer the device authorization grant',
  );
  app.addHook('onRequest', async (request) => {
    if (request.method === 'GET') onlyNavigation(request);
  });

  app.get(action, async (request, reply) => {
    const typed = singleValued(request.query)['user_code'];
    const code = typed === undefined ? undefined : readVerificationCode(typed);
    const session = await sessions.find(request, reply);
    // a code is tried only by a signed-in user (RFC 8628 section 5.1)
    if (!session) return pages.redirect(reply, signInPath('/login', { returnTo: devicePage(code) }));
    if (typed === undefined) return ask(request, reply, session, {});
    const wait = await countTry(request, session);
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      return ask(request, reply, session, { problem: 'throttled', wait, typed, status: 429 });
    }
    const waiting = code === undefined ? undefined : await find(code);
    if (!waiting) return ask(request, reply, session, { problem: 'unknown', typed, status: 400 });
    await refundTry(request, session);
    return demandSignIn(request, reply, session, waiting) ?? review(request, reply, session, waiting);
  });

  app.post(action, async (request, reply) => {
    const { csrf, user_code: typed, decision } = readParameters(decisionForm, request.body);
    const code = readVerificationCode(typed);
    const session = await sessions.find(request, reply);
    if (!session) return pages.redirect(reply, signInPath('/login', { returnTo: devicePage(code) }));
    // checked before the code is looked up, so that this form cannot be used to try codes
    if (!code || !sessions.isOwnForm(request, csrf, { action, session, shown: code }))
      return ask(request, reply, session, { problem: 'tampered', typed, status: code ? 403 : 400 });
    const waiting = await find(code);
    if (!waiting) return answered(request, reply, session, code, decision);
    const { client, targets, details } = waiting;
    const approved = decision === 'allow';
    const obstacle = approved ? demandSignIn(request, reply, session, waiting) : undefined;
    if (obstacle) return obstacle;
    const decided = await decideDevice(
      options,
      {
        userCodeHashes: hashesOf(code),
        approved,
        session,
        client,
        targets,
        details,
        address: clientAddress(request),
        formHash: sessions.formHash(request, decision),
      },
      request.log,
    );
    return decided ? showDecided(request, reply, client, approved) : answered(request, reply, session, code, decision);
  });

  /** Answers a form whose code no longer waits: with the same decision, if a double click sent it twice. */
  async function answered(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    code: string,
    decision: 'allow' | 'deny',
  ): Promise<FastifyReply> {
    const isRepeated = await store.usedForms.isKept(sessions.formHash(request, decision));
    const clientId = isRepeated ? await store.deviceAuthorizations.decidedClient(hashesOf(code)) : undefined;
    const client = clientId === undefined ? undefined : await store.clients.find(clientId);
    if (!client) return ask(request, reply, session, { problem: 'unknown', typed: code, status: 409 });
    return showDecided(request, reply, client, decision === 'allow');
  }

  const showDecided = (request: FastifyRequest, reply: FastifyReply, client: Client, approved: boolean): FastifyReply =>
    pages.send(request, reply, 'device-decided', { client: shownClient(client), approved, accountUri: '/account' });

  const hashesOf = (code: string) => verificationCodeHashes(secretBox, 'user code', code);

  async function find(code: string): Promise<Waiting | undefined> {
    const device = await store.deviceAuthorizations.find(hashesOf(code));
    // not from the cache: the user allows the version that the page shows
    const client = device && (await store.clients.find(device.clientId));
    if (!client || !admitsUsers(client)) return undefined;
    const { resources, scope } = device!;
    const details = device!.details.length === 0 ? [] : await checkedDetails(store, client, device!.details);
    const asked = { client, resource: resources?.join(' '), scope };
    const targets = await findTargetsOf(store, config.issuer, asked, details);
    return { code, device: device!, client, targets, details };
  }

  const counters = (request: FastifyRequest, session: Session) => [
    `user ${session.user.sub}`,
    `network ${networkOf(clientAddress(request))}`,
  ];

  /** Counts a code before it is looked up; returns the seconds to wait if there were too many, else 0. */
  async function countTry(request: FastifyRequest, session: Session): Promise<number> {
    let wait = 0;
    for (const key of counters(request, session)) wait = Math.max(wait, await limits.consume('userCodes', key));
    return wait;
  }

  /** Takes back this try alone: a right code does not reset the count of wrong ones. */
  async function refundTry(request: FastifyRequest, session: Session): Promise<void> {
    for (const key of counters(request, session)) await limits.refund('userCodes', key);
  }

  /** Sends the user to a sign-in if the session does not reach what client and service demand; undefined if it does. */
  function demandSignIn(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    waiting: Waiting,
  ): FastifyReply | Promise<FastifyReply> | undefined {
    const next = nextStep(config, session, waiting, clientAddress(request));
    const { step } = next;
    const returnTo = devicePage(waiting.code);
    if (step === 'consent') return undefined;
    if (step === 'access-denied') return denied(request, reply, session, waiting, next.reason);
    if (step === 'error') return ask(request, reply, session, { problem: 'unmet', typed: waiting.code, status: 403 });
    if (step !== 'second-factor') return pages.redirect(reply, signInPath('/login', { returnTo }));
    // the second step must be that of the session's user
    secondStep.close(request, reply);
    return pages.redirect(reply, signInPath('/login/second-factor', { returnTo }));
  }

  /** The device learns nothing: another user may still allow it. */
  async function denied(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    waiting: Waiting,
    reason: AccessRefusal,
  ): Promise<FastifyReply> {
    const { client, code } = waiting;
    const returnTo = devicePage(code);
    const situation = { from: { address: clientAddress(request) }, by: wayOf(session) };
    const data: Pages['access-denied'] = {
      by: 'service',
      reason: refusedReason(reason),
      client: shownClient(client),
      account: accountView(session.user),
      contacts: client.metadata.contacts ?? [],
      switchAccountUri: signInPath('/login/accounts', { returnTo }),
      reference: await pages.explain(request, notAdmitted(reason, client, session.user.sub, situation)),
    };
    return pages.send(request, reply, 'access-denied', data, { status: 403, here: returnTo.path });
  }

  function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    state: {
      problem?: NonNullable<Pages['device-code']['problem']>;
      wait?: number;
      typed?: string;
      status?: number;
    },
  ): FastifyReply {
    const data: Pages['device-code'] = { account: accountView(session.user), action };
    if (state.problem) data.problem = state.problem;
    if (state.wait !== undefined) data.wait = state.wait;
    if (state.typed !== undefined) data.typed = state.typed.slice(0, 40);
    return pages.send(request, reply, 'device-code', data, { status: state.status ?? 200, here: action });
  }

  function review(request: FastifyRequest, reply: FastifyReply, session: Session, waiting: Waiting): FastifyReply {
    const { code, device, client, targets, details } = waiting;
    const returnTo = devicePage(code);
    const data: Pages['device-review'] = {
      client: shownClient(client),
      account: accountView(session.user),
      userCode: code,
      scopes: device.scope.filter(isServiceScopeOf(client)).map((scope) => scopeView(session.user, client, scope)),
      apis: targets.flatMap(({ api, scope }) => (api && scope.length > 0 ? [apiView(api, scope)] : [])),
      requestedAt: device.createdAt,
      isSameNetwork: networkOf(device.address) === networkOf(clientAddress(request)),
      form: {
        action,
        hidden: { csrf: sessions.formToken(request, reply, { action, session, shown: code }), user_code: code },
      },
      switchAccountUri: signInPath('/login/accounts', { returnTo }),
    };
    if (details.length > 0) data.details = details.map((asked) => detailView(asked));
    if (device.address !== undefined) data.network = networkOf(device.address);
    return pages.send(request, reply, 'device-review', data, { here: returnTo.path });
  }
}

/** What the session still needs. The page never skips itself: no earlier grant counts, and no client is exempt. */
function nextStep(
  { secondFactor }: Pick<Config, 'secondFactor'>,
  session: Session,
  { device, client, targets, details }: Waiting,
  address: string | undefined,
): NextStep {
  return decide(
    {
      session,
      grant: undefined,
      client: { firstParty: false, selfRegistered: false, requiredAcr: client.requiredAcr },
      access: mayUse(session.user, client, { from: { address }, by: wayOf(session) }),
      secondFactor,
      passkeys: 'unavailable',
      transaction: { createdAt: device.createdAt, decision: undefined },
    },
    {
      prompts: [],
      maxAge: client.metadata.default_max_age,
      expectedSubs: undefined,
      scope: device.scope.filter(isServiceScopeOf(client)),
      resources: resourceGrants(targets),
      resourceAcrs: [...targets.flatMap(({ api }) => api?.requiredAcr ?? []), ...detailAcrs(details)],
      claims: [],
      redirectUri: '',
      acr: { values: [], essential: false },
    },
  );
}
