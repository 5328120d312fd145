// What a grant type is: a name and what it makes of a token request of an authenticated client.
import type { FastifyRequest } from 'fastify';
import type { Client } from '../../repositories/clients/clients.ts';

/** A successful token response (RFC 6749 5.1, OpenID Connect Core 3.1.3.3). */
export interface TokenResponse {
  access_token: string;
  token_type: 'Bearer';
  /** In seconds. */
  expires_in: number;
  scope?: string;
  refresh_token?: string;
  id_token?: string;
  /** For clients of the UMA profile: a handle of the client session that never stood in a URL (decisions section 5). */
  client_session_handle?: string;
}

export interface GrantType {
  readonly name: string;
  /** Whether a public client may use it. */
  readonly allowsPublic: boolean;
  /** Checks its own parameters in the request's body; throws OAuthError. */
  handle(request: FastifyRequest, client: Client): Promise<TokenResponse>;
}
