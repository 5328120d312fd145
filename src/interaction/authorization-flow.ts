// Declares how the pages of a sign-in and the short form continue an authorization request, which protocol/authorization answers.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuthorizationRequestRow } from '../repositories/authorization-requests/authorization-requests.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Resource } from '../entities/resources.ts';
import type { Session } from '../repositories/sessions/sessions.ts';
import type { SignInContext } from '../repositories/sessions/sign-in-context.ts';

/** The question that the consent page asks the End-User. */
export interface ConsentQuestion {
  client: Client;
  redirectUri: string;
  /** The redirect URI that the grant stores. */
  registeredUri: string;
  /** The scopes of this service. */
  scope: string[];
  /** The APIs with the requested scopes of each. */
  apis: { api: Resource; scope: string[] }[];
  /** Single claims beside those of the scopes. */
  claims: string[];
  uiLocales: string | undefined;
}

/** Shows a page about a stored request. */
export type ShowPage = (
  question: ConsentQuestion,
  session: Session,
  grant: SignInContext['grant'],
) => FastifyReply | Promise<FastifyReply>;

export interface AuthorizationFlow {
  /**
   * Begins a client's request: answers it if no question to the user is needed, else stores it and redirects the browser to a page.
   * @param confirm shows a page of the endpoint before a code is issued; it gets the stored request's id
   * @throws AuthorizationError for the client, OAuthError if the request cannot be trusted
   */
  begin(
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: AuthorizationRequestRow['endpoint'],
    parameters: Record<string, string>,
    confirm?: (redirectUri: string, session: Session, transaction: string) => FastifyReply,
  ): Promise<FastifyReply>;
  /**
   * Continues a stored request after a page or a push: it is verified again, then answered or sent to the next page (security R4).
   * @param here shows a page that is next, if the browser is at its address already; a client's answer then follows a page that leads to it
   * @throws as begin() does
   */
  resume(
    request: FastifyRequest,
    reply: FastifyReply,
    transaction: string,
    here?: Partial<Record<'consent' | 'access-denied', ShowPage>>,
  ): Promise<FastifyReply>;
  /** Whether the session satisfies a stored request, so that its user need not sign in again (OpenID Connect Core 3.1.2.3). */
  isSatisfied(request: FastifyRequest, transaction: string, context: SignInContext): Promise<boolean>;
  /** The question of a stored request; undefined if the request is no longer valid. */
  questionOf(stored: AuthorizationRequestRow): Promise<ConsentQuestion | undefined>;
  /** The error handler: answers the client if it is known and safe, else sends the browser to the sign-in page. */
  errors(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
}
