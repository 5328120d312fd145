// Checks the discovery document: every member is known and of its type, and none is missing (OpenID Connect Discovery 3, RFC 8414).
import { expect } from 'vitest';

export type Discovery = Record<string, unknown> & {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  jwks_uri: string;
  userinfo_endpoint: string;
  registration_endpoint: string;
  end_session_endpoint: string;
};

/** The registered members that a provider like this may have, by type; the suite warns of any other. */
const known: Readonly<Record<'address' | 'text' | 'texts' | 'flag', readonly string[]>> = {
  address: [
    'issuer',
    'authorization_endpoint',
    'token_endpoint',
    'userinfo_endpoint',
    'jwks_uri',
    'registration_endpoint',
    'revocation_endpoint',
    'introspection_endpoint',
    'end_session_endpoint',
    'check_session_iframe',

    'pushed_authorization_request_endpoint',
    'device_authorization_endpoint',
    'backchannel_authentication_endpoint',
    'service_documentation',
    'op_policy_uri',
    'op_tos_uri',
  ],
  text: ['signed_metadata'],
  texts: [
    'scopes_supported',
    'response_types_supported',
    'response_modes_supported',
    'grant_types_supported',
    'acr_values_supported',
    'subject_types_supported',
    'display_values_supported',
    'claim_types_supported',
    'claims_supported',
    'claims_locales_supported',
    'ui_locales_supported',
    'prompt_values_supported',

    'code_challenge_methods_supported',
    'dpop_signing_alg_values_supported',
    'authorization_details_types_supported',
    ...['token_endpoint', 'revocation_endpoint', 'introspection_endpoint'].flatMap((endpoint) => [
      `${endpoint}_auth_methods_supported`,
      `${endpoint}_auth_signing_alg_values_supported`,
    ]),
    ...['id_token', 'userinfo', 'authorization', 'introspection'].flatMap((what) => [
      `${what}_signing_alg_values_supported`,
      `${what}_encryption_alg_values_supported`,
      `${what}_encryption_enc_values_supported`,
    ]),
    ...['signing_alg', 'encryption_alg', 'encryption_enc'].map((what) => `request_object_${what}_values_supported`),
  ],
  flag: [
    'claims_parameter_supported',
    'request_parameter_supported',
    'request_uri_parameter_supported',
    'require_request_uri_registration',
    'require_pushed_authorization_requests',
    'require_signed_request_object',
    'authorization_response_iss_parameter_supported',
    'tls_client_certificate_bound_access_tokens',
    'frontchannel_logout_supported',
    'frontchannel_logout_session_supported',
    'backchannel_logout_supported',
    'backchannel_logout_session_supported',
  ],
};

const fits: Readonly<Record<keyof typeof known, (value: unknown) => boolean>> = {
  address: (value) => typeof value === 'string' && URL.canParse(value),
  text: (value) => typeof value === 'string',
  texts: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  flag: (value) => typeof value === 'boolean',
};

/** The members that every module needs before it can begin. */
export function checkDiscoveryAtStart(document: Discovery): void {
  for (const member of ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri'])
    expect(URL.canParse(document[member] as string), member).toBe(true);
  const methods = texts(document, 'token_endpoint_auth_methods_supported');
  expect(methods).toEqual(expect.arrayContaining(['client_secret_basic', 'client_secret_post', 'private_key_jwt']));
}

/** @param url where the document was found */
export function checkDiscovery(document: Discovery, url: string, { dynamic }: { dynamic: boolean }): void {
  checkTypes(document);
  checkAddresses(document, url);
  checkCapabilities(document, dynamic);
  for (const name of ['ui_locales_supported', 'claims_locales_supported'])
    if (name in document) checkLocales(texts(document, name));
}

/** No unknown member, none of another type, no null. */
export function checkTypes(document: Record<string, unknown>): void {
  const kinds = Object.entries(known) as [keyof typeof known, readonly string[]][];
  const wrong = Object.entries(document).filter(([name, value]) => {
    const [kind] = kinds.find(([, names]) => names.includes(name)) ?? [];
    return kind === undefined || !fits[kind](value);
  });
  expect(wrong, 'members that are unknown or of another type').toEqual([]);
}

function checkAddresses(document: Discovery, url: string): void {
  expect(url).toBe(`${document.issuer}/.well-known/openid-configuration`);
  const issuer = new URL(document.issuer);
  expect(issuer.protocol).toBe('https:');
  expect([issuer.search, issuer.hash, issuer.username, issuer.password, document.issuer.includes('?')]).toEqual([
    '',
    '',
    '',
    '',
    false,
  ]);
  const addresses = Object.keys(document).filter((name) => name.endsWith('_endpoint') || name === 'jwks_uri');
  expect(addresses).toEqual(
    expect.arrayContaining(['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri']),
  );
  for (const name of addresses) expect(document[name], name).toEqual(expect.stringMatching(/^https:\/\//));
}

function checkCapabilities(document: Discovery, dynamic: boolean): void {
  const sorted = (type: string) => type.split(' ').sort().join(' ');
  const responseTypes = texts(document, 'response_types_supported').map(sorted);
  const wanted = ['code', 'id_token', 'id_token token'];
  if (dynamic) expect(responseTypes).toEqual(expect.arrayContaining(wanted));
  else expect(responseTypes.some((type) => wanted.includes(type))).toBe(true);
  expect(texts(document, 'subject_types_supported').some((type) => ['public', 'pairwise'].includes(type))).toBe(true);
  expect(texts(document, 'id_token_signing_alg_values_supported')).toContain('RS256');
  expect(texts(document, 'claims_supported').length).toBeGreaterThan(0);
  const scopes = texts(document, 'scopes_supported');
  expect(scopes).toContain('openid');
  for (const scope of scopes) expect(scope).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/);
  const grantTypes = texts(document, 'grant_types_supported');
  expect(grantTypes.length).toBeGreaterThan(0);
  if (dynamic) expect(grantTypes).toEqual(expect.arrayContaining(['authorization_code', 'implicit']));
  const methods = (document['code_challenge_methods_supported'] ?? []) as string[];
  if (methods.length > 0) expect(methods.some((method) => ['S256', 'plain'].includes(method))).toBe(true);
  if ('request_object_signing_alg_values_supported' in document)
    expect(texts(document, 'request_object_signing_alg_values_supported')).toContain('RS256');
}

/** BCP 47, in its canonical case, with a language that has a name. */
export function checkLocales(tags: readonly string[]): void {
  const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
  for (const tag of tags) {
    expect(Intl.getCanonicalLocales(tag)).toEqual([tag]);
    expect(names.of(tag), tag).toBeTruthy();
  }
}

/** A member that is a list of strings. */
export function texts(document: Record<string, unknown>, name: string): string[] {
  expect(fits.texts(document[name]), `${name} is a list`).toBe(true);
  return document[name] as string[];
}
