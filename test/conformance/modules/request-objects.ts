// Sends request objects, unsigned and signed, by value and by reference; and the claims parameter (OpenID Connect Core 5.5, 6; RFC 9101).
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { SignJWT, UnsecuredJWT } from 'jose';
import { expect } from 'vitest';
import { checkErrorMembers } from '../checks/errors.ts';
import { texts } from '../checks/discovery.ts';
import type { Client } from '../client.ts';
import type { Outcome, RelyingParty } from '../relying-party.ts';
import { complete, expectErrorPage, responseParameters, signIn } from '../responses.ts';
import type { Module, Modules } from './definition.ts';

/** Whether the service announces that it accepts request objects without a signature. */
function takesUnsigned(rp: RelyingParty): boolean {
  const member = 'request_object_signing_alg_values_supported';
  return member in rp.discovery && texts(rp.discovery, member).includes('none');
}

/** The parameters that the modules put inside the object; those that OAuth requires outside stay outside. */
function contents(rp: RelyingParty, client: Client, changes: Record<string, string> = {}) {
  const request = rp.request(client, changes);
  const { state, nonce, ...outside } = request;
  return { request, outside, inside: { state: state!, nonce: nonce! } };
}

/** Publishes a request object; the fragment is random, and is a part of the registered address. */
function publish(rp: RelyingParty, object: string, path: string): void {
  rp.bed.suite.publish(path, 'application/jwt', object);
}

function addressOfObject(rp: RelyingParty): { uri: string; path: string } {
  const fragment = createHash('sha256').update(randomBytes(8)).digest('base64url');
  const address = `${rp.address}/${randomUUID()}/requestobject.jwt`;
  return { uri: `${address}#${fragment}`, path: new URL(address).pathname };
}

/** Sends the browser with exactly these parameters; the checks also use those of the object. */
async function send(
  rp: RelyingParty,
  outside: Record<string, string>,
  request: Record<string, string>,
): Promise<Outcome> {
  const outcome = await rp.interact(request, await rp.browser.open(rp.authorizationUrl(outside)));
  return { ...outcome, sent: request };
}

/** An unwanted object is refused with a code that says so, or by a page; the service never ignores it. */
function expectRefused(rp: RelyingParty, client: Client, outcome: Outcome, codes: string[]): void {
  if (!outcome.navigation.arrival) return expectErrorPage(outcome);
  const parameters = responseParameters(rp, client, outcome);
  expect(codes).toContain(parameters['error']);
  checkErrorMembers(parameters);
}

/** An unsigned object by reference: processed where `none` is listed, else refused. */
async function unsignedByReference(rp: RelyingParty): Promise<void> {
  const { uri, path } = addressOfObject(rp);
  const client = await rp.register({ request_uris: [uri] });
  const { request, outside, inside } = contents(rp, client);
  publish(rp, new UnsecuredJWT({ ...request }).encode(), path);
  const outcome = await send(rp, { ...outside, request_uri: uri }, request);
  if (takesUnsigned(rp)) {
    expect(rp.discovery['request_uri_parameter_supported'] ?? true).toBe(true);
    await complete(rp, client, outcome, { inside });
  } else
    expectRefused(rp, client, outcome, ['request_uri_not_supported', 'invalid_request_uri', 'invalid_request_object']);
}

export const requestObjectModules: Modules = {
  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported': {
    clause: 'OpenID Connect Core 6.2',
    run: unsignedByReference,
  },
  'oidcc-request-uri-unsigned': { clause: 'OpenID Connect Core 6.2', run: unsignedByReference },
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported': {
    clause: 'OpenID Connect Core 6.1',
    async run(rp) {
      const client = await rp.register();
      const { request, outside, inside } = contents(rp, client);
      const outcome = await send(rp, { ...outside, request: new UnsecuredJWT({ ...request }).encode() }, request);
      if (takesUnsigned(rp)) {
        expect(rp.discovery['request_parameter_supported']).toBe(true);
        await complete(rp, client, outcome, { inside });
      } else expectRefused(rp, client, outcome, ['request_not_supported', 'invalid_request_object']);
    },
  },
  'oidcc-ensure-request-object-with-redirect-uri': {
    clause: 'OpenID Connect Core 6.1, RFC 9101 6.3',
    async run(rp) {
      const client = await rp.register();
      const { request, outside, inside } = contents(rp, client);
      const wrong = { ...outside, redirect_uri: `${client.redirectUri}_invalid` };
      const outcome = await send(rp, { ...wrong, request: new UnsecuredJWT({ ...request }).encode() }, request);
      // the inner address counts, or none does: an answer to the outer one would be an open redirect
      if (outcome.navigation.arrival) await complete(rp, client, outcome, { inside });
      else expectErrorPage(outcome);
      expect(outcome.navigation.arrival !== undefined, 'uses the address inside').toBe(takesUnsigned(rp));
    },
  },
  'oidcc-request-uri-signed-rs256': {
    clause: 'OpenID Connect Core 6.2, RFC 9101 4',
    async run(rp) {
      expect(texts(rp.discovery, 'request_object_signing_alg_values_supported')).toContain('RS256');
      expect(rp.discovery['request_uri_parameter_supported'] ?? true).toBe(true);
      const { uri, path } = addressOfObject(rp);
      const client = await rp.register({ request_uris: [uri], request_object_signing_alg: 'RS256' });
      const { request, outside, inside } = contents(rp, client);
      // no exp, no iat, no jti, and a key without a kid
      const object = await new SignJWT({ ...request, iss: client.clientId, aud: rp.discovery.issuer })
        .setProtectedHeader({ alg: 'RS256' })
        .sign(client.key.privateKey);
      publish(rp, object, path);
      await complete(rp, client, await send(rp, { ...outside, request_uri: uri }, request), { inside });
    },
  },
};

const essentialName: Module = {
  clause: 'OpenID Connect Core 5.5',
  async run(rp) {
    const place = rp.variant.responseType === 'id_token' ? 'id_token' : 'userinfo';
    const claims = JSON.stringify({ [place]: { name: { essential: true } } });
    const { idTokens, userinfos } = await signIn(rp, await rp.register(), { claims });
    const inIdTokens = idTokens.map((token) => token.claims);
    for (const holder of place === 'userinfo' ? userinfos : inIdTokens) expect(holder['name']).toBe('Demo T. User');
    if (place === 'userinfo') for (const holder of inIdTokens) expect(holder).not.toHaveProperty('name');
  },
};

export const claimsModules: Modules = { 'oidcc-claims-essential': essentialName };
