// Ends sessions at an OpenID Provider, and reads its notice that a session has ended (RP-Initiated, Back-Channel and Front-Channel Logout 1.0).
import type { Connection } from '../../../entities/connections.ts';
import type { ReadJwks } from '../../../tokens/client-signature.ts';
import { verifyUpstreamLogoutToken } from '../../../tokens/upstream-logout-token.ts';
import { ConnectionFailure, type ConnectionKind } from '../kind.ts';
import type { createDiscovery } from './discovery.ts';
import type { OidcProfile } from './profile.ts';

/** The most characters of an ID Token in an address: many servers refuse addresses beyond 8 KiB. */
const maxHint = 4096;

export interface OidcLogoutDependencies {
  discovery: ReturnType<typeof createDiscovery>;
  profileOf(connection: Connection): OidcProfile;
  keyReader(connection: Connection, profile: OidcProfile, uri: string): ReadJwks;
  /** Turns the refusal of a token into a ConnectionFailure. */
  failed(refused: unknown): never;
  now: () => Date;
}

export function oidcLogout({
  discovery,
  profileOf,
  keyReader,
  failed,
  now,
}: OidcLogoutDependencies): Required<Pick<ConnectionKind, 'readLogout' | 'issuerOf' | 'endSession'>> {
  return {
    async readLogout(connection, token) {
      const profile = profileOf(connection);
      const found = await discovery.current(connection, profile, now());
      const { isIssuer, algorithms, hasOwnSubject = false } = profile;
      const { clientId } = profile.authentication(found);
      const expected = { isIssuer, clientId, algorithms, now: now() };
      const keys = keyReader(connection, profile, found.jwks_uri);
      const named = await verifyUpstreamLogoutToken(token, keys, expected).catch(failed);
      if (hasOwnSubject && named.sid === undefined)
        throw new ConnectionFailure('answer', 'sid is missing, and sub is not the subject of this connection');
      return hasOwnSubject ? { ...named, subject: undefined } : named;
    },
    issuerOf: (connection) => profileOf(connection).issuer,
    async endSession(connection, { returnTo, state, idToken }) {
      const profile = profileOf(connection);
      const found = await discovery.current(connection, profile, now());
      if (found.end_session_endpoint === undefined) return undefined;
      const target = new URL(found.end_session_endpoint);
      const request = {
        ...(idToken !== undefined && idToken.length <= maxHint && { id_token_hint: idToken }),
        client_id: profile.authentication(found).clientId,
        post_logout_redirect_uri: returnTo,
        state,
      };
      for (const [name, value] of Object.entries(request)) target.searchParams.set(name, value);
      return target.href;
    },
  };
}
