// Signs users in by OAuth 2.0 at a service without OpenID Connect: runs the code flow with PKCE and state, and asks the service for the user (federation 5).
import type { Claims } from '../../../rules/connections/connection-answer.ts';
import { codeChallenge } from '../../../oauth/pkce.ts';
import type { Connection } from '../../../entities/connections.ts';
import { keptTokens, tokensOf } from '../given-tokens.ts';
import { ConnectionFailure, type ConnectionKind } from '../kind.ts';
import { createProviderClient, failureOf, type ProviderClientOptions } from '../provider-client.ts';
import { oauthPresets } from './presets.ts';
import type { OAuthProfile } from './profile.ts';

export interface OAuthOptions extends ProviderClientOptions {
  /** OUTBOUND_ALLOW */
  allowed: readonly string[];
}

export function createOAuthKind(options: OAuthOptions): ConnectionKind {
  const client = createProviderClient(options);
  const variantOf = oauthPresets(options.allowed);

  function profileOf({ preset, settings }: Pick<Connection, 'preset' | 'settings'>): OAuthProfile {
    const variant = variantOf(preset);
    if (!variant) throw new ConnectionFailure('settings', 'there is no such preset');
    return variant.profile(settings);
  }

  return {
    kind: 'oauth',
    variant: variantOf,
    // pages that send the browser to the provider allow this address as the target of their form
    discover: (connection) => Promise.resolve({ authorization_endpoint: profileOf(connection).authorizationEndpoint }),
    begin(connection, { redirectUri, state, verifier }) {
      const { authorizationEndpoint, authentication, scope, isPosted } = profileOf(connection);
      const target = new URL(authorizationEndpoint);
      const request: Record<string, string> = {
        response_type: 'code',
        client_id: authentication.clientId,
        redirect_uri: redirectUri,
        ...(isPosted && { response_mode: 'form_post' }),
        ...(scope !== '' && { scope }),
        state,
        code_challenge: codeChallenge(verifier),
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(request)) target.searchParams.set(name, value);
      return Promise.resolve(target.href);
    },
    async finish(connection, { redirectUri, verifier }, { error, code }) {
      const { issuer, tokenEndpoint, authentication, identify } = profileOf(connection);
      if (error !== undefined || code === undefined) throw failureOf(error);
      const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
      const tokens: Claims = await client.send(connection, authentication, tokenEndpoint, grant);
      const token = tokens['access_token'];
      const identity = await identify((url, sent) => client.read(url, token, sent));
      // the answer is not signed and does not say when the user signed in: it is no fresh sign-in and no second factor (federation FR10, FR11)
      const kept = keptTokens(connection, tokens, options.now());
      return { ...identity, issuer, authTime: undefined, amr: ['fed'], sid: undefined, tokens: kept };
    },
    async refresh(connection, refreshToken) {
      const { tokenEndpoint, authentication } = profileOf(connection);
      const grant = { grant_type: 'refresh_token', refresh_token: refreshToken };
      return tokensOf(await client.send(connection, authentication, tokenEndpoint, grant), options.now());
    },
  };
}
