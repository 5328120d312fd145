// Keeps the steps of a sign-in by a connection. Each step is sealed, bound to one browser and one connection, and used once (federation FR4).
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { carries, internalCookie, single } from '../../browser/cookies.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import { digest, randomSecret } from '../../crypto/secrets.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { VerifiedIdentity } from '../../domain/connections/kind.ts';
import type { StepName } from '../../repositories/connections/connection-steps.ts';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import type { Store } from '../../repositories/store.ts';
import { clientAddress, networkOf } from '../../server/network.ts';

/** The request or page with which the browser continues after the sign-in. */
export interface StepContinuation {
  transaction?: string | undefined;
  destination?: string | undefined;
  /** Whether the user chose to stay signed in. */
  remember?: boolean | undefined;
}

/** The request to which an answer must belong. */
export interface RequestStep extends StepContinuation {
  purpose: 'sign-in' | 'link';
  /** Whether the user was asked to sign in there again. */
  anew: boolean;
  nonce: string;
  verifier: string;
  /** For the purpose `link`: the user who began the request. */
  sub?: string | undefined;
}

/** A verified identity. The sign-in waits for an action of the user. */
export interface IdentityStep extends StepContinuation {
  identity: VerifiedIdentity;
  /** Whether the user was asked to sign in there again. */
  anew?: boolean | undefined;
  /** The account that the identity may be linked to. */
  sub?: string | undefined;
}

/** The parameters of an answer. */
export type PostedAnswer = Readonly<Record<string, string>>;

/** A logout at the provider, from which the browser returns. */
export interface SignedOutStep {
  /** The registered address of the client that asked for the logout. */
  redirectTo: string | undefined;
}

interface Contents {
  request: RequestStep;
  answer: PostedAnswer;
  'signed-out': SignedOutStep;
  prove: IdentityStep;
  name: IdentityStep;
  link: IdentityStep;
  verified: IdentityStep;
}
/** The steps in which a page of this service waits for the user. */
export type WaitingStep = 'prove' | 'name' | 'link' | 'verified';

/** The lifetime of a posted answer: the next request of the same browser follows at once. */
const answerLifetime = 60; // seconds
const secretShape = /^[A-Za-z0-9_-]{43}$/;

export type ConnectionSteps = ReturnType<typeof createConnectionSteps>;

/** Restores the dates of a step, which JSON turned into text. */
export function withDates<S extends IdentityStep>(step: S): S {
  const { authTime } = step.identity as { authTime?: Date | string };
  return typeof authTime === 'string'
    ? { ...step, identity: { ...step.identity, authTime: new Date(authTime) } }
    : step;
}

export function createConnectionSteps(options: {
  store: Pick<Store, 'connectionSteps'>;
  secretBox: SecretBox;
  sessions: BrowserSessions;
  issuer: string;
  basePath: string;
  secure: boolean;
  /** FORM_LIFETIME, in seconds. */
  lifetime: number;
  /** LIMIT_PENDING_SIGN_INS */
  perNetwork: number;
}) {
  const { store, secretBox, sessions, lifetime } = options;
  /** The cookie with the connection and the secret of the step that waits for the user. It grants nothing without the browser's own cookie. */
  const stepCookie = internalCookie('CONNECTION', options.issuer);
  const cookie: CookieSerializeOptions = {
    httpOnly: true,
    sameSite: 'lax',
    secure: options.secure,
    path: options.basePath || '/',
  };
  const idOf = (secret: string) => digest('connection step', secret).toString('hex');
  /** Replaces the digest of a browser. Each posted answer has its own, since the number of steps of a browser is limited. */
  const answerHash = (secret: string) => digest('connection answer', secret);
  const dataOf = (id: string) => associatedDataOf('connection_steps.sealed_encrypted', id);

  function open<S extends StepName>(id: string, sealed: Buffer): Contents[S] {
    const read = JSON.parse(secretBox.open(sealed, dataOf(id)).toString()) as Contents[S];
    return 'identity' in read && typeof read.identity === 'object'
      ? (withDates(read as IdentityStep) as typeof read)
      : read;
  }

  return {
    /** Stores a step. @returns its secret; undefined if the network has too many pending sign-ins */
    async begin<S extends keyof Contents>(
      request: FastifyRequest,
      reply: FastifyReply,
      step: S,
      connectionId: string,
      content: Contents[S],
    ): Promise<string | undefined> {
      const secret = randomSecret();
      const id = idOf(secret);
      const stored = await store.connectionSteps.insert(
        {
          id,
          step,
          connectionId,
          lifetime,
          network: networkOf(clientAddress(request)),
          browserHash: sessions.ensureBrowserHash(request, reply),
          sealed: secretBox.seal(JSON.stringify(content), dataOf(id)),
        },
        // only a new sign-in counts, not the further steps of a counted one
        step === 'request' ? options.perNetwork : 0,
      );
      return stored ? secret : undefined;
    },
    /** Whether a request to a connection waits in this browser for the answer with this state. */
    async waits(request: FastifyRequest, connectionId: string, state: string | undefined): Promise<boolean> {
      const browserHash = sessions.browserHash(request);
      if (state === undefined || !browserHash || !secretShape.test(state)) return false;
      return (await store.connectionSteps.find(idOf(state), 'request', connectionId, browserHash)) !== undefined;
    },
    /** Whether such a request waits in any browser. */
    isAwaited: async (connectionId: string, state = ''): Promise<boolean> =>
      secretShape.test(state) && (await store.connectionSteps.exists(idOf(state), 'request', connectionId)),
    /** Returns and deletes the step of this browser and connection. */
    async take<S extends StepName>(
      request: FastifyRequest,
      step: S,
      connectionId: string,
      secret: string | undefined,
    ): Promise<Contents[S] | undefined> {
      const browserHash = sessions.browserHash(request);
      if (secret === undefined || !browserHash || !secretShape.test(secret)) return undefined;
      const id = idOf(secret);
      const found = await store.connectionSteps.take(id, step, connectionId, browserHash);
      return found && open<S>(id, found.sealed);
    },
    /**
     * Keeps an answer that a page of the provider posted. Such a request carries no cookie, so the service does not know the browser. Only the state
     * shows that the answer belongs to a waiting request: see isAwaited(). @returns the secret
     */
    async keepAnswer(connectionId: string, answer: PostedAnswer): Promise<string> {
      const secret = randomSecret();
      const id = idOf(secret);
      await store.connectionSteps.insert(
        {
          id,
          step: 'answer',
          connectionId,
          lifetime: Math.min(answerLifetime, lifetime),
          network: undefined,
          browserHash: answerHash(secret),
          sealed: secretBox.seal(JSON.stringify(answer), dataOf(id)),
        },
        0,
      );
      return secret;
    },
    /** Returns and deletes the posted answer, if it belongs to a request of this browser, or to no request. */
    async takeAnswer(
      request: FastifyRequest,
      connectionId: string,
      secret: string | undefined,
    ): Promise<PostedAnswer | undefined> {
      if (secret === undefined || !secretShape.test(secret)) return undefined;
      const id = idOf(secret);
      const found = await store.connectionSteps.find(id, 'answer', connectionId, answerHash(secret));
      const content = found && open<'answer'>(id, found.sealed);
      if (!content) return undefined;
      const { state } = content;
      if (state !== undefined && !(await this.waits(request, connectionId, state))) return undefined;
      const taken = await store.connectionSteps.take(id, 'answer', connectionId, answerHash(secret));
      return taken && open<'answer'>(id, taken.sealed);
    },
    /** Stores an identity while a page of this service waits for the user. */
    async wait(
      request: FastifyRequest,
      reply: FastifyReply,
      step: WaitingStep,
      connectionId: string,
      content: IdentityStep,
    ): Promise<void> {
      const secret = (await this.begin(request, reply, step, connectionId, content))!;
      reply.setCookie(stepCookie, `${connectionId}.${secret}`, { ...cookie, maxAge: lifetime });
    },
    /** The step that waits in this browser, and the time when it was stored. */
    async waiting(
      request: FastifyRequest,
      step: WaitingStep,
    ): Promise<{ connectionId: string; content: IdentityStep; since: Date } | undefined> {
      const [connectionId = '', secret] = partsOf(request);
      const browserHash = sessions.browserHash(request);
      if (secret === undefined || !browserHash) return undefined;
      const id = idOf(secret);
      const found = await store.connectionSteps.find(id, step, connectionId, browserHash);
      return found && { connectionId, content: open<typeof step>(id, found.sealed), since: found.createdAt };
    },
    /** Returns and deletes the waiting step. Of two concurrent requests, one gets it. */
    async finish(request: FastifyRequest, reply: FastifyReply, step: WaitingStep): Promise<IdentityStep | undefined> {
      const [connectionId = '', secret] = partsOf(request);
      if (carries(request, stepCookie)) reply.clearCookie(stepCookie, cookie);
      return this.take(request, step, connectionId, secret);
    },
  };

  function partsOf(request: FastifyRequest): string[] {
    const value = single(request, stepCookie) ?? '';
    return /^[a-z][a-z0-9-]{1,39}\.[A-Za-z0-9_-]{43}$/.test(value) ? value.split('.') : [];
  }
}
