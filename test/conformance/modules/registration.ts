// Registers what the Dynamic plan requires: redirect URIs, the pages' pictures and links, keys by address, sectors, keys that rotate.
import { calculateJwkThumbprint } from 'jose';
import { expect } from 'vitest';
import { performanceMoves } from '../bed/clock.ts';
import type { KeyPair } from '../bed/bed.ts';
import { elements, Policy } from '../bed/html.ts';
import { texts } from '../checks/discovery.ts';
import type { Client } from '../client.ts';
import type { RelyingParty } from '../relying-party.ts';
import { complete, expectErrorPage, signIn } from '../responses.ts';
import { refreshTokens } from './codes.ts';
import type { Module, Modules } from './definition.ts';

/** A redirect URI that differs from the registered one: an error page, and no redirect. */
function refusedAddress(registered: string, requested: string): Module {
  return {
    clause: 'OpenID Connect Core 3.1.2.1, RFC 3986 6.2.1',
    async run(rp) {
      const client = await rp.register({ redirect_uris: [`${rp.address}/callback${registered}`] });
      expectErrorPage(await rp.authorize(client, { redirect_uri: `${rp.address}/callback${requested}` }));
    },
  };
}

/** An address to which the sign-in page links. */
function linked(member: string, address: (rp: RelyingParty) => string): Module {
  return {
    clause: 'OpenID Connect Registration 2',
    async run(rp) {
      const client = await rp.register({ [member]: address(rp) });
      const outcome = await rp.authorize(client);
      const links = elements(outcome.pages[0]!.body, 'a').map(({ href }) => new URL(href!, outcome.pages[0]!.url).href);
      expect(outcome.signIns).toBe(1);
      expect(links).toContain(new URL(address(rp)).href);
      await complete(rp, client, outcome);
    },
  };
}

/** Publishes a key under its thumbprint, and lets the client sign with it. */
async function publishKey(rp: RelyingParty, path: string, key: KeyPair): Promise<string> {
  const kid = await calculateJwkThumbprint(key.publicJwk);
  rp.bed.suite.publish(path, 'application/json', JSON.stringify({ keys: [{ ...key.publicJwk, kid }] }));
  return kid;
}

async function registerWithAddressOfKeys(rp: RelyingParty, extra: Record<string, unknown> = {}): Promise<Client> {
  const uri = `${rp.address}/${crypto.randomUUID()}/jwks`;
  const kid = await publishKey(rp, new URL(uri).pathname, rp.bed.keys[0]);
  return Object.assign(await rp.register({ jwks_uri: uri, ...extra }), { kid });
}

/** Publishes a sector's redirect URIs at the suite. */
function sector(rp: RelyingParty, redirectUris: string[]): Record<string, unknown> {
  const uri = `${rp.address}/redirect_uris.json`;
  rp.bed.suite.publish(new URL(uri).pathname, 'application/json', JSON.stringify(redirectUris));
  return { subject_type: 'pairwise', sector_identifier_uri: uri };
}

export const redirectUriModules: Modules = {
  'oidcc-ensure-redirect-uri-in-authorization-request': {
    clause: 'OpenID Connect Core 3.1.2.1',
    async run(rp) {
      const client = await rp.register({ redirect_uris: [`${rp.address}/callback`, `${rp.address}/callback2`] });
      expectErrorPage(await rp.authorize(client, { redirect_uri: undefined }));
    },
  },
  'oidcc-redirect-uri-query-OK': {
    clause: 'RFC 6749 3.1.2',
    async run(rp) {
      await signIn(rp, await rp.register({ redirect_uris: [`${rp.address}/callback?bar=foo`] }));
    },
  },
  'oidcc-redirect-uri-query-mismatch': refusedAddress('?bar=foo', '?foo=bar'),
  'oidcc-redirect-uri-query-added': refusedAddress('', '?foo=bar'),
  'oidcc-redirect-uri-regfrag': {
    clause: 'OpenID Connect Registration 2, RFC 6749 3.1.2',
    run: (rp) =>
      rp.expectRegistrationRefused({ redirect_uris: [`${rp.address}/callback#foobar`] }, [
        'invalid_redirect_uri',
        'invalid_client_metadata',
      ]),
  },
};

export const registrationModules: Modules = {
  'oidcc-registration-logo-uri': {
    clause: 'OpenID Connect Registration 2',
    async run(rp) {
      const logo = `${rp.bed.suite.origin}/images/openid.png`;
      const client = await rp.register({ logo_uri: logo });
      const outcome = await rp.authorize(client);
      const page = outcome.pages[0]!;
      expect(outcome.signIns).toBe(1);
      expect(elements(page.body, 'img').map(({ src }) => src)).toContain(logo);
      const policy = new Policy(page.headers.get('content-security-policy'), rp.discovery.issuer);
      expect(policy.allows('img-src', logo), 'the policy lets the logo load').toBe(true);
      await complete(rp, client, outcome);
    },
  },
  'oidcc-registration-policy-uri': linked('policy_uri', (rp) => `${rp.bed.suite.origin}/login.html`),
  'oidcc-registration-tos-uri': linked('tos_uri', () => 'https://openid.net'),
  'oidcc-registration-jwks-uri': {
    clause: 'OpenID Connect Registration 2',
    async run(rp) {
      await signIn(rp, await registerWithAddressOfKeys(rp));
    },
  },
  'oidcc-registration-sector-uri': {
    clause: 'OpenID Connect Registration 5',
    async run(rp) {
      expect(texts(rp.discovery, 'subject_types_supported')).toContain('pairwise');
      await signIn(rp, await rp.register(sector(rp, [`${rp.address}/callback`])));
    },
  },
  'oidcc-registration-sector-bad': {
    clause: 'OpenID Connect Registration 5',
    run: (rp) => rp.expectRegistrationRefused(sector(rp, [`${rp.address}/other`]), ['invalid_client_metadata']),
  },
};

export const keyModules: Modules = {
  'oidcc-server-rotate-keys': {
    clause: 'OpenID Connect Core 10.1.1',
    async run(rp) {
      const before = rp.keys;
      await rp.bed.rotateKeys();
      const after = await rp.fetchKeys();
      const kids = before.map(({ kid }) => kid);
      const added = after.filter(({ kid, use }) => !kids.includes(kid) && (use ?? 'sig') === 'sig');
      expect(added.length, 'new keys').toBeGreaterThan(0);
      // the suite's check fails on a new key of another type
      expect(added.map(({ kty }) => kty).filter((kty) => kty !== 'RSA' && kty !== 'EC')).toEqual([]);
      for (const key of added) expect(before.map(({ n, x }) => n ?? x)).not.toContain(key.n ?? key.x);
      expect(
        after.some(({ kid }) => kids.includes(kid)),
        'an old key is still there',
      ).toBe(true);
    },
  },
  'oidcc-refresh-token-rp-key-rotation': {
    clause: 'OpenID Connect Core 10.1.1',
    run: (rp) =>
      refreshTokens(
        rp,
        () => registerWithAddressOfKeys(rp, { refresh: true }),
        async (client) => {
          const uri = client.metadata['jwks_uri'] as string;
          client.key = rp.bed.keys[1];
          client.kid = await publishKey(rp, new URL(uri).pathname, client.key);
          performanceMoves(60);
        },
      ),
  },
};
