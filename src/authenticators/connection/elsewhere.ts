// Sends a browser to a connection, and verifies the answer with which it comes back.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomSecret } from '../../crypto/secrets.ts';
import { ConnectionFailure, type VerifiedIdentity, type Wishes } from '../../domain/connections/kind.ts';
import { type ConnectionKinds, profileOfConnection } from '../../domain/connections/kinds.ts';
import { isTooDeep } from '../../oauth/connection-answer.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import { OAuthError } from '../../oauth/errors.ts';
import type { Connection } from '../../repositories/connections/connections.ts';
import type { Store } from '../../repositories/store.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import type { ConnectionSteps, PostedAnswer, RequestStep } from './steps.ts';
import { connectionPath } from './connection.ts';

export interface Answered {
  connection: Connection;
  /** The request that it answers. */
  step: RequestStep;
  /** Who the user is; or why that is not known. */
  identity: VerifiedIdentity | ConnectionFailure;
}

export type Elsewhere = ReturnType<typeof createElsewhere>;

export function createElsewhere(options: {
  store: Pick<Store, 'connections'>;
  kinds: ConnectionKinds;
  steps: ConnectionSteps;
  limits: Limits;
  issuer: string;
}) {
  const { store, kinds, steps, limits, issuer } = options;
  const redirectUriOf = (id: string) => `${issuer}${connectionPath(id)}/callback`;

  /** @throws OAuthError if the network sends too many */
  async function count(request: FastifyRequest): Promise<void> {
    const wait = await limits.consume('connectionAnswers', networkOf(clientAddress(request)));
    if (wait > 0)
      throw new OAuthError('temporarily_unavailable', 'too many answers from this network: try again soon', 429, {
        headers: { 'retry-after': String(wait) },
      });
  }

  return {
    /** The connection with this id, if it is open for the purpose. */
    async find(id: string, purpose: RequestStep['purpose']): Promise<Connection | undefined> {
      const found = /^[a-z][a-z0-9-]{1,39}$/.test(id) ? await store.connections.find(id) : undefined;
      const isOpen = found?.status === 'enabled' || (purpose === 'link' && found?.status === 'link_only');
      return isOpen && kinds.get(found.kind)?.begin ? found : undefined;
    },
    /** Stores the request and returns the address to which the browser goes. @throws ConnectionFailure, OAuthError */
    async begin(
      request: FastifyRequest,
      reply: FastifyReply,
      connection: Connection,
      content: Omit<RequestStep, 'nonce' | 'verifier' | 'anew'>,
      wishes: Wishes,
    ): Promise<string> {
      const [nonce, verifier] = [randomSecret(), randomSecret()];
      const anew = wishes.login || wishes.maxAge !== undefined;
      const step = { ...content, anew, nonce, verifier };
      const state = await steps.begin(request, reply, 'request', connection.id, step);
      if (state === undefined)
        throw new OAuthError('temporarily_unavailable', 'too many sign-ins wait in this network: try again soon', 429);
      const attempt = { redirectUri: redirectUriOf(connection.id), state, nonce, verifier };
      return kinds.get(connection.kind)!.begin!(connection, attempt, wishes);
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
      await count(request);
      return this.verify(request, id, answer);
    },
    /** Keeps an answer that was posted. @returns its secret @throws OAuthError if the network sends too many */
    async keep(request: FastifyRequest, id: string, answer: PostedAnswer): Promise<string | undefined> {
      await count(request);
      const connection = await this.find(id, 'link');
      const isPosted = connection && profileOfConnection(kinds, connection)?.isPosted === true;
      return isPosted ? steps.keepAnswer(id, answer) : undefined;
    },
    /** Verifies an answer that was posted; it was counted then. */
    async answerKept(request: FastifyRequest, id: string, secret: string | undefined): Promise<Answered | undefined> {
      const answer = await steps.takeAnswer(request, id, secret);
      return answer && this.verify(request, id, answer);
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
      const identity = await kinds.get(connection.kind)!.finish!(connection, attempt, answer).then(
        (verified) =>
          isTooDeep(verified.claims) ? new ConnectionFailure('answer', 'the claims are nested too deeply') : verified,
        (error: unknown) => {
          if (!(error instanceof ConnectionFailure)) throw error;
          return error;
        },
      );
      return { connection, step, identity };
    },
  };
}
