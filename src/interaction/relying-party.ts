// Declares how a protocol has its requests carried through the pages of a sign-in: what it verifies, how it answers and how it refuses.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Resource } from '../entities/resources.ts';
import type { Detail } from '../oauth/authorization-details.ts';
import type { Granted } from '../oauth/granted.ts';
import type { ErrorCode, ResponseError } from '../oauth/errors.ts';
import type { AuthorizationRequestRow } from '../repositories/authorization-requests/authorization-requests.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Session } from '../repositories/sessions/sessions.ts';
import type { SignInContext } from '../repositories/sessions/sign-in-context.ts';
import type { AskedDetail } from '../sender-constraint/authorization-details.ts';
import type { Target } from '../sender-constraint/audience.ts';

/**
 * A request as it is stored. `endpoint` is where it arrived, and so names its protocol. Of `parameters` the pages read those that mean the same
 * in OpenID Connect: `redirect_uri`, `prompt`, `login_hint`, `ui_locales`, `max_age`, `connection` and `domain_hint`. The others are the protocol's own.
 */
export type StoredRequest = Pick<AuthorizationRequestRow, 'endpoint' | 'parameters' | 'problem'>;

/** What the policy and the pages know of a request whose client and return address are verified. */
export interface VerifiedRequest {
  client: Client;
  /** Where and how the client gets its answer. A redirect of a form may not lead to it, unless a page of this service posts it. */
  target: { readonly redirectUri: string; readonly delivery: 'form_post' | 'query' | 'fragment' };
  /** The address that a grant stores: a native app uses another port each time (RFC 8252 7.3). */
  registeredUri: string;
  prompts: string[];
  uiLocales: string | undefined;
  /** The client's error, which the client learns once the user is signed in. */
  error: ResponseError | undefined;
  /** Valid only without `error`, as every member below. The scopes of this service and of resources. */
  scope: string[];
  /** Single claims beside those of the scopes. */
  claims: { beside: string[] };
  /** The user must have one subject of each list. */
  subjects: string[][];
  /** The requested authentication levels that the service knows, in order of preference. */
  acr: { values: string[]; essential: boolean };
  /** Whether the response has to say when the user authenticated. */
  needsAuthTime: boolean;
  /** In seconds. */
  maxAge: number | undefined;
  /** The authorization details that it asks for (RFC 9396); absent without any. */
  details?: readonly AskedDetail[];
  /** The resources for which the client can get tokens; none for tokens whose audience is the client itself. */
  targets: readonly Target[];
}

export interface RelyingParty<Request extends VerifiedRequest = VerifiedRequest> {
  /** The endpoints whose requests it verifies and answers. */
  readonly endpoints: readonly string[];
  /**
   * @param framed whether the browser loads the response in a frame, where no page can be shown
   * @throws OAuthError if the request cannot be trusted: then nothing may be sent to the address that it names
   */
  verify(stored: StoredRequest, framed: boolean): Promise<Request>;
  /**
   * Issues the response and sends it.
   * @param idHash of the stored request, if the browser was sent to a page; `details` are those that its user allowed there
   * @returns false if the session is over and the user has to sign in
   * @throws ResponseError for the client, OAuthError for a page
   */
  respond(
    request: FastifyRequest,
    reply: FastifyReply,
    verified: Request,
    session: Session,
    stored: { endpoint: string; idHash: Buffer | undefined; details?: readonly Detail[] | undefined },
  ): Promise<boolean>;
  /** Makes an error that the client gets. */
  errorOf(verified: Request, code: ErrorCode, description: string): ResponseError;
  /** Sends an error to the client; false if the error is another protocol's. @throws OAuthError if it cannot be sent */
  refuse(request: FastifyRequest, reply: FastifyReply, error: ResponseError): Promise<boolean>;
  /** What happens first when a browser comes back to a request of the client. */
  returns?(request: FastifyRequest, session: Session | undefined, clientId: string): Promise<void>;
}

/** The question that the consent page asks the End-User. */
export interface ConsentQuestion {
  client: Client;
  redirectUri: string;
  /** The redirect URI that the grant stores. */
  registeredUri: string;
  asked: Granted;
  /** The APIs of the resources. */
  apis: Resource[];
  /** The authorization details, with their types. */
  details: readonly AskedDetail[];
  uiLocales: string | undefined;
}

/** Shows a page about a stored request. */
export type ShowPage = (
  question: ConsentQuestion,
  session: Session,
  grant: SignInContext['grant'],
) => FastifyReply | Promise<FastifyReply>;

/** Carries requests of every protocol through the pages of a sign-in to the response. */
export interface InteractionFlow {
  /**
   * Begins a client's request: answers it if no question to the user is needed, else stores it and redirects the browser to a page.
   * @param confirm shows a page of the endpoint before a response is issued; it gets the stored request's id
   * @throws ResponseError for the client, OAuthError if the request cannot be trusted
   */
  begin(
    request: FastifyRequest,
    reply: FastifyReply,
    sent: StoredRequest,
    confirm?: (redirectUri: string, session: Session, transaction: string) => FastifyReply,
  ): Promise<FastifyReply>;
  /**
   * Continues a stored request after a page: it is verified again, then answered or sent to the next page (security R4).
   * @param here shows a page that is next, if the browser is at its address already; a client's answer then follows a page that leads to it
   * @throws as begin() does
   */
  resume(
    request: FastifyRequest,
    reply: FastifyReply,
    transaction: string,
    here?: Partial<Record<'consent' | 'access-denied', ShowPage>>,
  ): Promise<FastifyReply>;
  /** Begins a request that its client has stored before. @throws as begin() does */
  arrive(request: FastifyRequest, reply: FastifyReply, transaction: string): Promise<FastifyReply>;
  /** Answers a request that was answered before, has expired, or belongs to another browser. @throws OAuthError in a frame */
  expired(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  /** Whether the session satisfies a stored request, so that its user need not sign in again (OpenID Connect Core 3.1.2.3). */
  isSatisfied(request: FastifyRequest, transaction: string, context: SignInContext): Promise<boolean>;
  /** The question of a stored request; undefined if the request is no longer valid. */
  questionOf(stored: StoredRequest): Promise<ConsentQuestion | undefined>;
  /** The error handler: answers the client if it is known and safe, else sends the browser to the sign-in page. */
  errors(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
}
