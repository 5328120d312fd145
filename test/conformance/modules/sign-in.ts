// Signs in with all that a request may hold, and sends the requests that must be refused.
import { expect } from 'vitest';
import { claimsOfScope } from '../checks/claims.ts';
import { checkJsonError } from '../checks/errors.ts';
import { texts } from '../checks/discovery.ts';
import type { RelyingParty } from '../relying-party.ts';
import { complete, expectError, expectErrorPage, pkce, signIn } from '../responses.ts';
import type { Module, Modules } from './definition.ts';

/** The claims that an ID Token of scope openid may hold without a warning. */
const expectedClaims = [
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'auth_time',
  'nonce',
  'acr',
  'amr',
  'azp',
  'at_hash',
  'c_hash',
  's_hash',
  'nbf',
  'jti',
  'sid',
  'txn',
];

async function server(rp: RelyingParty): Promise<void> {
  const { idTokens, tokens } = await signIn(rp, await rp.register());
  for (const { claims } of idTokens)
    expect(Object.keys(claims).filter((name) => !expectedClaims.includes(name))).toEqual([]);
  if (tokens) expect(tokens['expires_in']).toBeTypeOf('number');
}

/** A sign-in whose request has more parameters than it needs. */
function tolerates(
  clause: string,
  parameters: Record<string, string> | ((rp: RelyingParty) => Record<string, string>),
): Module {
  return {
    clause,
    async run(rp) {
      await signIn(rp, await rp.register(), typeof parameters === 'function' ? parameters(rp) : parameters);
    },
  };
}

function signedIdToken(clause: string, metadata: Record<string, unknown>): Module {
  return {
    clause,
    async run(rp) {
      const client = await rp.register(metadata);
      const { idTokens } = await signIn(rp, client);
      expect(idTokens.length).toBeGreaterThan(0);
      for (const { alg } of idTokens) expect(alg).toBe('RS256');
    },
  };
}

export const signInModules: Modules = {
  'oidcc-server': { clause: 'OpenID Connect Core 3.1, 3.2, 3.3', run: server },
  'oidcc-server-client-secret-post': { clause: 'OpenID Connect Core 9', run: server },
  'oidcc-response-type-missing': {
    clause: 'RFC 6749 3.1.1',
    async run(rp) {
      const client = await rp.register();
      const outcome = await rp.authorize(client, { response_type: undefined });
      expectError(rp, client, outcome, ['unsupported_response_type', 'invalid_request']);
    },
  },
  'oidcc-idtoken-signature': signedIdToken('OpenID Connect Registration 2', {}),
  'oidcc-idtoken-rs256': signedIdToken('OpenID Connect Registration 2', { id_token_signed_response_alg: 'RS256' }),
  'oidcc-idtoken-unsigned': {
    clause: 'OpenID Connect Core 3.1.3.7',
    async run(rp) {
      expect(texts(rp.discovery, 'id_token_signing_alg_values_supported')).not.toContain('none');
      await rp.expectRegistrationRefused({ id_token_signed_response_alg: 'none' }, ['invalid_client_metadata']);
    },
  },
  'oidcc-ensure-request-without-nonce-succeeds-for-code-flow': {
    clause: 'OpenID Connect Core 3.1.2.1',
    async run(rp) {
      const { idTokens } = await signIn(rp, await rp.register(), { nonce: undefined });
      expect(idTokens[0]!.claims).not.toHaveProperty('nonce');
    },
  },
  'oidcc-ensure-request-without-nonce-fails': {
    clause: 'OpenID Connect Core 3.2.2.1, 3.3.2.11',
    async run(rp) {
      const client = await rp.register();
      expectError(rp, client, await rp.authorize(client, { nonce: undefined }), ['invalid_request']);
    },
  },
  'oidcc-alternate-happy-flow': {
    clause: 'OpenID Connect Core 3.1.2.1',
    async run(rp) {
      const client = await rp.register();
      const sent = rp.request(client, { scope: 'email openid' });
      const reversed = Object.fromEntries(Object.entries(sent).reverse());
      const outcome = await rp.interact(sent, await rp.browser.open(rp.authorizationUrl(reversed)));
      const { idTokens, userinfos } = await complete(rp, client, outcome);
      const holders = userinfos.length > 0 ? userinfos : idTokens.map(({ claims }) => claims);
      for (const claims of holders) expect(claims).toMatchObject({ email: 'demo@example.com' });
      for (const claims of [...userinfos, ...idTokens.map((token) => token.claims)])
        expect(claims).not.toHaveProperty('name');
      if (userinfos.length > 0) for (const { claims } of idTokens) expect(claims).not.toHaveProperty('email');
    },
  },
  'oidcc-display-page': tolerates('OpenID Connect Core 3.1.2.1', { display: 'page' }),
  'oidcc-display-popup': tolerates('OpenID Connect Core 3.1.2.1', { display: 'popup' }),
  'oidcc-ensure-request-with-unknown-parameter-succeeds': tolerates('OpenID Connect Core 3.1.2.1', { extra: 'foobar' }),
  'oidcc-login-hint': tolerates('OpenID Connect Core 3.1.2.1', { login_hint: 'buffy@op.example.test' }),
  'oidcc-ui-locales': tolerates('OpenID Connect Core 3.1.2.1', { ui_locales: 'se' }),
  'oidcc-claims-locales': tolerates('OpenID Connect Core 5.2', { claims_locales: 'se' }),
  'oidcc-ensure-request-with-acr-values-succeeds': {
    clause: 'OpenID Connect Core 5.5.1.1',
    async run(rp) {
      const levels = texts(rp.discovery, 'acr_values_supported');
      const { idTokens } = await signIn(rp, await rp.register(), { acr_values: levels.join(' ') });
      for (const { claims } of idTokens) expect(levels).toContain(claims['acr']);
    },
  },
  'oidcc-ensure-post-request-succeeds': {
    clause: 'OpenID Connect Core 3.1.2.1',
    async run(rp) {
      const client = await rp.register();
      const sent = rp.request(client);
      const navigation = await rp.browser.post(rp.discovery.authorization_endpoint, sent);
      await complete(rp, client, await rp.interact(sent, navigation));
    },
  },
  'oidcc-ensure-request-with-valid-pkce-succeeds': {
    clause: 'RFC 7636 4',
    async run(rp) {
      const client = await rp.register();
      const verifier = 'a-verifier-that-has-at-least-the-43-characters-of-rfc-7636';
      const outcome = await rp.authorize(client, pkce(verifier));
      await complete(rp, client, outcome, { token: { code_verifier: verifier } });
    },
  },
  'oidcc-ensure-registered-redirect-uri': {
    clause: 'OpenID Connect Core 3.1.2.1',
    async run(rp) {
      const client = await rp.register();
      expectErrorPage(await rp.authorize(client, { redirect_uri: `${client.redirectUri}/${crypto.randomUUID()}` }));
    },
  },
  'oidcc-ensure-client-assertion-with-iss-aud-succeeds': {
    clause: 'RFC 7523 3',
    async run(rp) {
      const client = await rp.register();
      const outcome = await rp.authorize(client);
      const assertion = { audience: rp.discovery.issuer };
      if (rp.variant.responseType.includes('code')) await complete(rp, client, outcome, { assertion });
      // without a code there is nothing to redeem, and the assertion is checked before the grant
      else checkJsonError(await rp.redeem(client, 'none', {}, assertion), [400], ['unauthorized_client']);
    },
  },
};

/** Claims of a scope, or of all. */
function scopeModule(...asked: string[]): Module {
  return {
    clause: 'OpenID Connect Core 5.4',
    async run(rp) {
      expect(texts(rp.discovery, 'scopes_supported')).toEqual(expect.arrayContaining(asked));
      const { idTokens, userinfos } = await signIn(rp, await rp.register(), { scope: ['openid', ...asked].join(' ') });
      const wanted = asked.flatMap((scope) => claimsOfScope[scope]!);
      const inIdTokens = idTokens.map(({ claims }) => claims);
      for (const claims of userinfos.length > 0 ? userinfos : inIdTokens)
        expect(
          wanted.filter((name) => !(name in claims)),
          'missing claims',
        ).toEqual([]);
      // an ID Token does not hold the claims that the access token can fetch
      if (userinfos.length > 0)
        for (const claims of inIdTokens)
          expect(
            wanted.filter((name) => name in claims),
            'in the ID Token',
          ).toEqual([]);
      if (!asked.includes('profile'))
        for (const claims of [...userinfos, ...inIdTokens]) expect(claims).not.toHaveProperty('name');
    },
  };
}

export const scopeModules: Modules = {
  'oidcc-scope-profile': scopeModule('profile'),
  'oidcc-scope-email': scopeModule('email'),
  'oidcc-scope-address': scopeModule('address'),
  'oidcc-scope-phone': scopeModule('phone'),
  'oidcc-scope-all': scopeModule('profile', 'email', 'address', 'phone'),
};
