// Serves GET|POST /admin/registration, where an administrator reviews a registration by its code (draft-dellaert-oauth-approval-based-dcr 4).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { administratorSession } from './administrator-session.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { approveClient, refuseClient } from '../operations/client-decisions.ts';
import { type Administrator, demandPermission, type OperationContext } from '../operations/operation.ts';
import { run } from '../operations/run.ts';
import { findRegistration, reviewClients } from '../operations/pages/client-reviews.ts';
import { perform } from '../perform.ts';
import { registrationPage } from '../../pages/return-to.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import { accountView, type PageResponses } from '../../pages/page-response.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import type { Pages } from '../../pages/views/index.ts';
import { displayName } from '../../oauth/client-metadata.ts';
import { rule } from '../../oauth/refusals.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { readVerificationCode } from '../../tokens/verification-code.ts';
import { registrationFacts } from './facts.ts';
import type { Config } from '../../config.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';

const decisionForm = z.object({
  csrf: text(100).optional(),
  verification_code: text(100),
  client_id: text(255),
  version: z.string().regex(/^[1-9]\d{0,8}$/, rule('whole-number')),
  decision: z.enum(['approve', 'refuse']),
  reason: text(300).optional(),
});

const action = '/admin/registration';
const withoutReason = 'An administrator did not approve this registration.';

/** A pending registration that an administrator reviews. */
interface Waiting {
  code: string;
  client: Client;
  address: string | undefined;
}

interface RegistrationApprovalDependencies {
  config: Config;
  sessions: BrowserSessions;
  pages: PageResponses;
  limits: Limits;
  operationContext: OperationContext;
}

export async function registrationApprovalEndpoint(
  app: FastifyInstance,
  options: RegistrationApprovalDependencies,
): Promise<void> {
  const { config, sessions, pages, limits, operationContext } = options;
  const actorOf = (request: FastifyRequest, { user }: Session): Administrator => ({
    actor: user.sub,
    address: clientAddress(request),
    kind: 'administrator',
  });

  app.get(action, async (request, reply) => {
    onlyNavigation(request);
    const typed = singleValued(request.query)['verification_code'];
    const code = typed === undefined ? undefined : readVerificationCode(typed);
    const session = administratorSession(config.secondFactor, await sessions.find(request, reply));
    if (typeof session === 'string') return refuseSession(request, reply, session, code);
    const actor = actorOf(request, session);
    demandPermission(approveClient, actor);
    if (typed === undefined) return ask(request, reply, session, {});
    const wait = await countTry(request, session);
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      return ask(request, reply, session, { problem: 'throttled', wait, typed, status: 429 });
    }
    const waiting = code === undefined ? undefined : await find(actor, code);
    if (!waiting) return ask(request, reply, session, { problem: 'unknown', typed, status: 400 });
    await refundTry(request, session);
    return review(request, reply, session, waiting);
  });

  app.post(action, async (request, reply) => {
    const form = readParameters(decisionForm, request.body);
    const code = readVerificationCode(form.verification_code);
    const version = Number(form.version);
    const session = administratorSession(config.secondFactor, await sessions.find(request, reply));
    if (typeof session === 'string') return refuseSession(request, reply, session, code);
    const actor = actorOf(request, session);
    demandPermission(approveClient, actor);
    const { client_id: clientId, decision } = form;
    // checked before the code is looked up, so that this form cannot be used to try codes
    if (!code || !sessions.isOwnForm(request, form.csrf, binding(session, code, clientId, version))) {
      const status = code ? 403 : 400;
      return ask(request, reply, session, { problem: 'tampered', typed: form.verification_code, status });
    }
    const waiting = await find(actor, code);
    if (waiting?.client.clientId !== clientId) {
      return ask(request, reply, session, { problem: 'unknown', typed: code, status: 409 });
    }
    const call = { params: { id: clientId }, actor };
    const reason = form.reason?.trim() ?? '';
    const input = { version, reason: reason === '' ? withoutReason : reason };
    const result =
      decision === 'approve'
        ? await perform(approveClient, operationContext, { ...call, input: { version } })
        : await perform(refuseClient, operationContext, { ...call, input });
    if ('refused' in result) {
      // the registration may also be decided or cancelled since the page showed it
      const now = await find(actor, code);
      return now
        ? review(request, reply, session, now, result.refused.code === 'resource-held' ? 'held' : 'changed')
        : ask(request, reply, session, { problem: 'unknown', typed: code, status: 409 });
    }
    const decided: Pages['registration-decided'] = {
      approved: decision === 'approve',
      name: displayName(clientId, waiting.client.metadata),
      nextUri: action,
      accountUri: '/account',
    };
    if (decision === 'refuse' && reason !== '') decided.reason = reason;
    return pages.send(request, reply, 'registration-decided', decided);
  });

  /** Sends a user who is no administrator an error page, and an administrator without a recent sign-in to the sign-in. */
  function refuseSession(
    request: FastifyRequest,
    reply: FastifyReply,
    obstacle: 'sign-in' | 'forbidden',
    code: string | undefined,
  ): FastifyReply {
    return obstacle === 'sign-in'
      ? pages.redirect(reply, `/login?destination=${registrationPage(code).value}`)
      : pages.send(request, reply, 'error', { kind: 'administrators', reference: '' }, { status: 403 });
  }

  const counters = (request: FastifyRequest, session: Session) => [
    `user ${session.user.sub}`,
    `network ${networkOf(clientAddress(request))}`,
  ];

  /** Counts a code before it is looked up; returns the seconds to wait if there were too many, else 0. */
  async function countTry(request: FastifyRequest, session: Session): Promise<number> {
    let wait = 0;
    for (const key of counters(request, session)) wait = Math.max(wait, await limits.consume('verificationCodes', key));
    return wait;
  }

  async function refundTry(request: FastifyRequest, session: Session): Promise<void> {
    for (const key of counters(request, session)) await limits.refund('verificationCodes', key);
  }

  async function find(actor: Administrator, code: string): Promise<Waiting | undefined> {
    const found = await run(findRegistration, operationContext, { params: code, input: {}, actor });
    return found && { code, ...found };
  }

  function binding(session: Session, code: string, clientId: string, version: number) {
    return { action, session, shown: `${code} ${clientId} ${version}` };
  }

  function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    state: {
      problem?: NonNullable<Pages['registration-code']['problem']>;
      wait?: number;
      typed?: string;
      status?: number;
    },
  ): FastifyReply {
    const data: Pages['registration-code'] = { account: accountView(session.user), action };
    if (state.problem) data.problem = state.problem;
    if (state.wait !== undefined) data.wait = state.wait;
    if (state.typed !== undefined) data.typed = state.typed.slice(0, 40);
    return pages.send(request, reply, 'registration-code', data, { status: state.status ?? 200 });
  }

  async function review(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    { code, client, address }: Waiting,
    problem?: 'changed' | 'held',
  ): Promise<FastifyReply> {
    const { clientId, version } = client;
    const call = { params: [client], input: {}, actor: actorOf(request, session) };
    const lookup = await run(reviewClients, operationContext, call);
    const data: Pages['registration-review'] = {
      account: accountView(session.user),
      verificationCode: code,
      ...registrationFacts(client, address, lookup),
      form: {
        action,
        hidden: {
          csrf: sessions.formToken(request, reply, binding(session, code, clientId, version)),
          verification_code: code,
          client_id: clientId,
          version: String(version),
        },
      },
    };
    if (problem) data.problem = problem;
    return pages.send(request, reply, 'registration-review', data, { status: problem ? 409 : 200 });
  }
}
