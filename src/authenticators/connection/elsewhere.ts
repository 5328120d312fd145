// Sends a browser to the provider of a connection, and verifies the answer with which the browser returns.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomSecret } from '../../crypto/secrets.ts';
import { ConnectionFailure, type VerifiedIdentity, type Wishes } from '../../domain/connections/kind.ts';
import { type ConnectionKinds, profileOfConnection } from '../../domain/connections/kinds.ts';
import { isTooDeep } from '../../rules/connections/connection-answer.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import { OAuthError } from '../../oauth/errors.ts';
import type { Connection } from '../../entities/connections.ts';
import type { Store } from '../../repositories/store.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import type { ConnectionSteps, PostedAnswer, RequestStep } from './steps.ts';
import { connectionPath } from './connection.ts';

export interface Answered {
  connection: Connection;
  /** The request to which the answer belongs. */
  step: RequestStep;
  /** The identity of the user, or the failure. */
  identity: VerifiedIdentity | ConnectionFailure;
}

/** The most answers that may be posted for one request in a minute. */
const mostPosts = 5;

export type Elsewhere = ReturnType<typeof createElsewhere>;

export function createElsewhere(options: {
  store: Pick<Store, 'connections' | 'auditEvents'>;
  kinds: ConnectionKinds;
  steps: ConnectionSteps;
  limits: Limits;
  issuer: string;
}) {
  const { store, kinds, steps, limits, issuer } = options;
  const redirectUriOf = (id: string) => `${issuer}${connectionPath(id)}/callback`;

  /** The ids of connections at which the last sign-in could not begin. */
  const failing = new Set<string>();

  /** Counts a request against a limit. @throws OAuthError if the limit is exceeded */
  async function count(limit: 'connectionBegins' | 'connectionAnswers', key: string, max?: number): Promise<void> {
    const wait = await limits.consume(limit, key, max);
    if (wait > 0)
      throw new OAuthError('temporarily_unavailable', 'too many sign-ins from this network: try again soon', 429, {
        headers: { 'retry-after': String(wait) },
      });
  }
  const network = (request: FastifyRequest) => networkOf(clientAddress(request));

  return {
    /** The connection with this id, if it may be used for the purpose. */
    async find(id: string, purpose: RequestStep['purpose']): Promise<Connection | undefined> {
      const found = /^[a-z][a-z0-9-]{1,39}$/.test(id) ? await store.connections.find(id) : undefined;
      const isOpen = found?.status === 'enabled' || (purpose === 'link' && found?.status === 'link_only');
      return isOpen && kinds.get(found.kind)?.begin ? found : undefined;
    },
    /**
     * Stores the request and returns the address to which the browser is sent. Without a session, the service counts the request before it sends one
     * of its own. After a failure, it tries the connection once a second for all users together (security R161).
     * @throws ConnectionFailure, OAuthError
     */
    async begin(
      request: FastifyRequest,
      reply: FastifyReply,
      connection: Connection,
      content: Omit<RequestStep, 'nonce' | 'verifier' | 'anew'>,
      wishes: Wishes,
      isSignedIn: boolean,
    ): Promise<string> {
      const { id } = connection;
      if (!isSignedIn) await count('connectionBegins', network(request));
      if (failing.has(id) && (await limits.consume('connectionTries', id)) > 0)
        throw new ConnectionFailure('unreachable', 'it failed a moment ago');
      const [nonce, verifier] = [randomSecret(), randomSecret()];
      const anew = wishes.login || wishes.maxAge !== undefined;
      const step = { ...content, anew, nonce, verifier };
      const state = await steps.begin(request, reply, 'request', id, step);
      if (state === undefined)
        throw new OAuthError('temporarily_unavailable', 'too many sign-ins wait in this network: try again soon', 429);
      const attempt = { redirectUri: redirectUriOf(id), state, nonce, verifier };
      try {
        const uri = await kinds.get(connection.kind)!.begin!(connection, attempt, wishes);
        failing.delete(id);
        return uri;
      } catch (error) {
        if (error instanceof ConnectionFailure) failing.add(id);
        throw error;
      }
    },
    /** Records a failed sign-in. Any stranger can cause one, so each connection records one a minute (security R161). */
    async recordFailure(request: FastifyRequest, { id }: Connection, { reason }: ConnectionFailure): Promise<void> {
      if ((await limits.consume('connectionFailures', id)) > 0) return;
      await store.auditEvents.insert({
        type: 'identity.refused',
        outcome: 'failure',
        actor: `connection:${id}`,
        address: clientAddress(request),
        detail: { connection: id, reason },
      });
    },
    /**
     * Verifies an answer. Undefined if this browser has no such request to this connection, or has used it.
     * @throws OAuthError if the network sends too many
     */
    async answer(
      request: FastifyRequest,
      id: string,
      answer: Readonly<Record<string, string>>,
    ): Promise<Answered | undefined> {
      // another site can make a browser send answers, but no answer to a request that waits in this browser (security R160)
      if (!(await steps.waits(request, id, answer['state']))) return undefined;
      await count('connectionAnswers', network(request));
      return this.verify(request, id, answer);
    },
    /** Keeps a posted answer. @returns its secret @throws OAuthError if too many are posted */
    async keep(id: string, answer: PostedAnswer): Promise<string | undefined> {
      const connection = await this.find(id, 'link');
      const isPosted = connection && profileOfConnection(kinds, connection)?.isPosted === true;
      if (!isPosted || !(await steps.isAwaited(id, answer['state']))) return undefined;
      // the service does not know the browser yet, and another site may have sent the answer: it counts for its own request only (security R160)
      await count('connectionAnswers', `state ${answer['state']}`, mostPosts);
      return steps.keepAnswer(id, answer);
    },
    /**
     * Keeps an answer to no request, if the connection accepts those.
     * @returns its secret @throws OAuthError if the network sends too many
     */
    async keepUnsolicited(request: FastifyRequest, id: string, answer: PostedAnswer): Promise<string | undefined> {
      const connection = await this.find(id, 'sign-in');
      if (!connection || profileOfConnection(kinds, connection)?.acceptsUnsolicited !== true) return undefined;
      await count('connectionAnswers', network(request));
      // a state of another program names no request of ours
      const own = Object.fromEntries(Object.entries(answer).filter(([name]) => name !== 'state'));
      return steps.keepAnswer(id, own);
    },
    /** Verifies a posted answer. @throws OAuthError if the network sends too many */
    async answerKept(request: FastifyRequest, id: string, secret: string | undefined): Promise<Answered | undefined> {
      const answer = await steps.takeAnswer(request, id, secret);
      if (!answer) return undefined;
      return answer['state'] === undefined ? this.verifyUnsolicited(id, answer) : this.answer(request, id, answer);
    },
    /** Verifies an answer to no request: it signs in, and links nothing. */
    async verifyUnsolicited(id: string, answer: PostedAnswer): Promise<Answered | undefined> {
      const connection = await this.find(id, 'sign-in');
      const finish = connection && kinds.get(connection.kind)?.finishUnsolicited;
      // an administrator may have switched it off meanwhile
      if (!finish || profileOfConnection(kinds, connection)?.acceptsUnsolicited !== true) return undefined;
      const step: RequestStep = { purpose: 'sign-in', anew: false, nonce: '', verifier: '' };
      return { connection, step, identity: await identityOr(finish(connection, answer)) };
    },
    async verify(
      request: FastifyRequest,
      id: string,
      answer: Readonly<Record<string, string>>,
    ): Promise<Answered | undefined> {
      const { state } = answer;
      const step = await steps.take(request, 'request', id, state);
      const connection = step && (await this.find(id, step.purpose));
      if (!step || !connection) return undefined;
      const { nonce, verifier } = step;
      const attempt = { redirectUri: redirectUriOf(id), state: state!, nonce, verifier };
      const identity = await identityOr(kinds.get(connection.kind)!.finish!(connection, attempt, answer));
      return { connection, step, identity };
    },
  };
}

/** The identity, or the failure. */
const identityOr = (verifying: Promise<VerifiedIdentity>): Promise<VerifiedIdentity | ConnectionFailure> =>
  verifying.then(
    (verified) =>
      isTooDeep(verified.claims) ? new ConnectionFailure('answer', 'the claims are nested too deeply') : verified,
    (error: unknown) => {
      if (!(error instanceof ConnectionFailure)) throw error;
      return error;
    },
  );
