// Each refusal of client metadata has its code, its member, its sentence, and its message on the console's form: a table of cases.
import { expect, test } from 'vitest';
import { clientGroups } from '../../src/admin/console/clients/fields.ts';
import { parseClientMetadata } from '../../src/oauth/client-metadata.ts';
import { createSectorCheck, createUnapprovedSectorCheck } from '../../src/domain/client-documents/sector-check.ts';
import { OAuthError } from '../../src/oauth/errors.ts';
import {
  clientRules,
  combinationRules,
  namesItsSubject,
  type Refusal,
  type RefusalCode,
  refusalCodes,
} from '../../src/oauth/refusals.ts';
import { translation } from '../pages/page-states/index.ts';

const redirect_uris = ['https://rp.example/cb'];
const ec = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
};
const keys = { jwks: { keys: [ec] } };
const byKey = { token_endpoint_auth_method: 'private_key_jwt' };
const fapi2 = { fapi2: 'security', ...byKey, ...keys };
const isPublic = { token_endpoint_auth_method: 'none' };
const pairwise = { subject_type: 'pairwise' };
const noLocalhost = { issuer: 'https://idp.example', loopbackLocalhost: false };
/** A service that takes certificates. */
const certificates = {
  ...noLocalhost,
  mtls: { baseUrl: 'https://mtls.idp.example', header: 'Client-Cert', verifyHeader: 'Client-Cert-Verify' },
};
const byName = { token_endpoint_auth_method: 'tls_client_auth' };
const bySelf = { token_endpoint_auth_method: 'self_signed_tls_client_auth' };
const localhost = 'http://localhost/cb';

/** An administrator marked the client. */
const madeForDevelopment = { admin: true, development: true };

const refused: [RefusalCode, string, Record<string, unknown>, typeof noLocalhost?, typeof madeForDevelopment?][] = [
  ['string', 'scope', { scope: 1 }],
  ['strings', 'request_uris.0', { request_uris: [1] }],
  ['boolean', 'require_pkce', { require_pkce: 'true' }],
  ['whole-seconds', 'default_max_age', { default_max_age: -1 }],
  ['invalid', 'default_acr_values.1', { default_acr_values: ['1', '1 2'] }],
  ['length', 'contacts.0', { contacts: [''] }],
  ['length', 'client_name', { client_name: 'x'.repeat(101) }],
  ['characters', 'client_name', { client_name: 'a\u202eb' }],
  ['entries', 'redirect_uris', { redirect_uris: Array.from({ length: 21 }, () => 'https://rp.example/cb') }],
  ['entries', 'contacts', { contacts: Array.from({ length: 11 }, () => 'desk') }],
  ['missing.entry', 'grant_types', { grant_types: [] }],
  ['missing.entry', 'jwks.keys', { jwks: { keys: [] } }],
  ['missing.redirect-uri', 'redirect_uris', { redirect_uris: [] }],
  ['missing.response-type', 'response_types', { response_types: [] }],
  ['choice.algorithm', 'id_token_signed_response_alg', { id_token_signed_response_alg: 'none' }],
  ['choice.method', 'token_endpoint_auth_method', { token_endpoint_auth_method: 'tls_client_auth' }],
  ['choice.response-type', 'response_types.0', { response_types: ['teapot'] }],
  ['choice.grant-type', 'grant_types.0', { grant_types: ['password'] }],
  ['choice.application-type', 'application_type', { application_type: 'desktop' }],
  ['choice.subject-type', 'subject_type', { subject_type: 'both' }],
  ['choice.scope', 'scope', { scope: 'everything' }],
  ['web-address', 'logo_uri', { logo_uri: 'http://rp.example/logo' }],
  ['https.login', 'initiate_login_uri', { initiate_login_uri: 'http://127.0.0.1/login' }],
  ['https.requests', 'request_uris', { request_uris: ['http://rp.example/object'] }],
  ['localhost.member', 'client_uri', { client_uri: localhost }],
  ['localhost.member', 'request_uris', { request_uris: [localhost] }],
  ['localhost.redirect-uri', 'redirect_uris', { redirect_uris: [localhost] }],
  ['address.relative', 'redirect_uris', { redirect_uris: ['/cb'] }],
  ['address.fragment', 'post_logout_redirect_uris', { post_logout_redirect_uris: ['https://rp.example/#x'] }],
  ['address.length', 'redirect_uris', { redirect_uris: [`https://rp.example/${'x'.repeat(2000)}`] }],
  ['address.http', 'redirect_uris', { redirect_uris: ['http://rp.example/cb'] }],
  ['address.native-scheme', 'redirect_uris', { application_type: 'native', redirect_uris: ['app:/cb'] }],
  ['address.web-scheme', 'redirect_uris', { redirect_uris: ['com.example.app:/cb'] }],
  ['address.form', 'redirect_uris', { redirect_uris: ['https://*.rp.example/cb'] }],
  ['resource', 'resource_uris', { resource_uris: ['api'] }],
  ['own-resource', 'resource_uris', { resource_uris: ['https://idp.example/userinfo'] }],
  ['key.set', 'jwks', { jwks: 'keys' }],
  ['key.most', 'jwks.keys', { jwks: { keys: Array.from({ length: 21 }, () => ec) } }],
  ['key.public', 'jwks.keys.0', { jwks: { keys: [{ ...ec, d: 'secret' }] } }],
  ['key.type', 'jwks', { jwks: { keys: [{ kty: 'new' }] } }],
  ['key.valid', 'jwks', { jwks: { keys: [{ kty: 'RSA', n: 'AQ', e: 'AQAB' }] } }],
  ['key.authentication', 'jwks', { ...byKey, jwks: { keys: [{ ...ec, use: 'enc' }] } }],
  ['grant', 'grant_types', { grant_types: ['authorization_code'], response_types: ['id_token'] }],
  ['refresh', 'grant_types', { grant_types: ['refresh_token'], response_types: [] }],
  ['same-origin', 'frontchannel_logout_uri', { frontchannel_logout_uri: 'https://other.example/' }],
  ['pairwise.none', 'subject_type', { ...pairwise, grant_types: ['client_credentials'], redirect_uris: [] }],
  ['pairwise.loopback', 'subject_type', { ...pairwise, redirect_uris: ['http://127.0.0.1/cb'] }],
  ['sector-hosts', 'redirect_uris', { ...pairwise, redirect_uris: ['https://a.example/', 'https://b.example/'] }],
  [
    'sector-document.host',
    'sector_identifier_uri',
    { ...pairwise, sector_identifier_uri: `https://${`${'x'.repeat(60)}.`.repeat(5)}example/` },
  ],
  ['keys-once', 'jwks', { ...keys, jwks_uri: 'https://rp.example/jwks' }],
  ['keys.authentication', 'jwks', byKey],
  ['keys.encryption', 'userinfo_encrypted_response_alg', { userinfo_encrypted_response_alg: 'ECDH-ES' }],
  ['keys.request-object', 'request_object_signing_alg', { request_object_signing_alg: 'ES256' }],
  ['encryption-key', 'jwks', { ...keys, id_token_encrypted_response_alg: 'RSA-OAEP' }],
  ['algorithm.encryption', 'id_token_encrypted_response_enc', { id_token_encrypted_response_enc: 'A128GCM' }],
  [
    'algorithm.asymmetric',
    'token_endpoint_auth_signing_alg',
    { ...byKey, jwks_uri: 'https://rp.example/jwks', token_endpoint_auth_signing_alg: 'HS256' },
  ],
  [
    'algorithm.symmetric',
    'token_endpoint_auth_signing_alg',
    { token_endpoint_auth_method: 'client_secret_jwt', token_endpoint_auth_signing_alg: 'RS256' },
  ],
  ['public.grant', 'grant_types', { ...isPublic, grant_types: ['authorization_code', 'client_credentials'] }],
  ['public.signature', 'token_endpoint_auth_method', { ...isPublic, id_token_signed_response_alg: 'HS256' }],
  ['public.uma', 'token_endpoint_auth_method', { ...isPublic, uma_profile: true }],
  ['secret', 'token_endpoint_auth_method', { ...byKey, ...keys, userinfo_signed_response_alg: 'HS256' }],
  ['request', 'request_object_signing_alg', { request_object_signing_alg: 'none' }],
  ['choice.profile', 'fapi2', { fapi2: 'advanced' }],
  [
    'dpop.response',
    'response_types',
    { dpop_bound_access_tokens: true, response_types: ['id_token token'], grant_types: ['implicit'] },
  ],
  [
    'certificate.off',
    'tls_client_certificate_bound_access_tokens',
    { tls_client_certificate_bound_access_tokens: true },
  ],
  [
    'dpop.certificate',
    'response_types',
    {
      tls_client_certificate_bound_access_tokens: true,
      response_types: ['id_token token'],
      grant_types: ['implicit'],
    },
    certificates,
  ],
  ['certificate-name.missing', 'tls_client_auth_subject_dn', byName, certificates],
  [
    'certificate-name.several',
    'tls_client_auth_san_dns',
    { ...byName, tls_client_auth_subject_dn: 'CN=app', tls_client_auth_san_dns: 'app.example' },
    certificates,
  ],
  ['distinguished-name', 'tls_client_auth_subject_dn', { ...byName, tls_client_auth_subject_dn: 'app' }, certificates],
  ['host-name', 'tls_client_auth_san_dns', { ...byName, tls_client_auth_san_dns: '*.example' }, certificates],
  ['resource', 'tls_client_auth_san_uri', { ...byName, tls_client_auth_san_uri: '/id' }, certificates],
  ['host-address', 'tls_client_auth_san_ip', { ...byName, tls_client_auth_san_ip: '10.0.0' }, certificates],
  ['email', 'tls_client_auth_san_email', { ...byName, tls_client_auth_san_email: 'desk' }, certificates],
  [
    'length',
    'tls_client_auth_subject_dn',
    { ...byName, tls_client_auth_subject_dn: `CN=${'x'.repeat(500)}` },
    certificates,
  ],
  ['keys.authentication', 'jwks', bySelf, certificates],
  ['key.certificate', 'jwks', { ...bySelf, jwks: { keys: [{ ...ec, x5c: ['AAAA'] }] } }, certificates],
  ['fapi2.method', 'token_endpoint_auth_method', { fapi2: 'security' }],
  ['fapi2.grant', 'grant_types', { ...fapi2, grant_types: ['authorization_code', 'implicit'] }],
  ['fapi2.response', 'response_types', { ...fapi2, response_types: ['code', 'none'] }],
  ['fapi2.uma', 'uma_profile', { ...fapi2, uma_profile: true }],
  ['fapi2.algorithm', 'id_token_signed_response_alg', { ...fapi2, id_token_signed_response_alg: 'RS256' }],
  ['fapi2.redirect-uri', 'redirect_uris', { ...fapi2, redirect_uris: ['http://127.0.0.1/cb'] }],
  ['choice.delivery', 'backchannel_token_delivery_mode', { backchannel_token_delivery_mode: 'push' }],
  ['backchannel.endpoint', 'backchannel_client_notification_endpoint', { backchannel_token_delivery_mode: 'ping' }],
  ['backchannel.keys', 'jwks', { backchannel_authentication_request_signing_alg: 'ES256' }],
  [
    'address.development',
    'redirect_uris',
    { redirect_uris: ['http://rp.example/cb'] },
    noLocalhost,
    madeForDevelopment,
  ],
];
const languages = ['en', 'de', 'ar'];

/** Checks the properties of every refusal that a form can cause. */
function expectWords(error: OAuthError): void {
  const refusal = error.refusal!;
  expect(error.description).toMatch(/^[ !#-[\]-z|}~]+$/);
  expect(clientGroups({}, {}).flatMap(({ fields }) => fields.map(({ name }) => name))).toContain(
    refusal.member.split('.', 1)[0],
  );
  const ofControls: RefusalCode[] = ['string', 'strings', 'boolean', 'whole-seconds', 'invalid'];
  for (const language of languages) {
    const sentences = translation(language);
    const own = [refusal.code, refusal.code.split('.', 1)[0]!].find((code) => sentences[`console.refused.${code}`]);
    // what the form's own controls rule out has no sentence of its own
    if (own === undefined) expect(ofControls).toContain(refusal.code);
    const words = sentences[`console.refused.${own ?? 'invalid'}`];
    expect(words, `${refusal.code} in ${language}`).toBeDefined();
    for (const [, name] of words!.matchAll(/\{(\w+)\}/g)) expect(refusal.params, refusal.code).toHaveProperty(name!);
  }
}

function refusalOf(run: () => unknown): OAuthError {
  try {
    run();
  } catch (error) {
    return error as OAuthError;
  }
  throw new Error('nothing was refused');
}

test.each(refused)(
  '%s is reported at %s, with a message in every language (pages, forms)',
  (code, member, input, settings = noLocalhost, options = undefined) => {
    const error = refusalOf(() => parseClientMetadata({ redirect_uris, ...input }, options, settings));
    expect(error).toBeInstanceOf(OAuthError);
    expect(error.refusal).toMatchObject({ code, member } satisfies Partial<Refusal>);
    expectWords(error);
  },
);

test.each<[RefusalCode, string]>([
  ['sector-document.any', 'no JSON'],
  ['sector-document.any', '[]'],
  ['sector-document.answer', 'no JSON'],
  ['sector-document.array', '{}'],
  ['sector-document.entries', '[]'],
])(
  '%s is reported at sector_identifier_uri, with a message in every language (pages, forms)',
  async (code, document) => {
    const create = code === 'sector-document.any' ? createUnapprovedSectorCheck : createSectorCheck;
    const check = create(() => Promise.resolve(document));
    const metadata = parseClientMetadata({ redirect_uris, sector_identifier_uri: 'https://rp.example/sector' });
    const error = await check(metadata).catch((refused: unknown) => refused);
    expect(error).toMatchObject({ refusal: { code, member: 'sector_identifier_uri' } });
    expectWords(error as OAuthError);
  },
);

test('the tables above contain every refusal of client metadata (pages, forms)', () => {
  const reached = [...refused.map(([code]) => code), 'sector-document.answer', 'sector-document.array'];
  expect([...new Set([...reached, 'sector-document.any', 'sector-document.entries'])]).toEqual(
    expect.arrayContaining([...Object.keys(clientRules), ...Object.keys(combinationRules)]),
  );
});

test('the console has a sentence for each refusal but those of fields that have one for every fault, and for no other code (pages, forms)', () => {
  const codes = Object.keys(translation('en'))
    .filter((key) => key.startsWith('console.refused.'))
    .map((key) => key.slice('console.refused.'.length));
  const hasSentence = (code: string) => codes.includes(code) || codes.includes(code.split('.', 1)[0]!);
  // the page of a directory shows the state of its imports, the console makes the id of a client, and no form can cause the others
  // a notice of the page says what a form does not go on for
  const noticed = [
    ...['decided', 'ended', 'gone', 'names', 'unnamed'].map((code) => `client.${code}`),
    ...['address', 'disabled', 'invitable'].map((code) => `user.${code}`),
  ];
  const never = ['import-off', 'import-not-held', 'import-changed', 'settings', 'preset', 'kind'];
  expect(refusalCodes.filter((code) => namesItsSubject(code) && !hasSentence(code)).sort()).toEqual(
    [...never.map((code) => `connection.${code}`), 'client.taken', 'plan.stale', ...noticed].sort(),
  );
  // the field that breaks such a rule has one sentence for every fault (NOUN.MEMBER.refused), or no form can break it
  const ofFields = `
    attribute.choice attribute.date attribute.large attribute.long attribute.many attribute.text attribute.type attribute.unknown
    boolean claim-target claims-known client-id client-secret color contrast decision event-id fixed image image-size invited ip-address
    language made-here most-groups one-of only page-size positive product-name read-only reference refusal-reason resource-uri
    role-name scope-twice secret-source standard-claims status string strings sub support-url token-claim too-short whole-number whole-seconds
  `;
  const hasOwn = (code: string) => Object.keys(translation('en')).some((key) => key.endsWith(`.refused.${code}`));
  expect(
    refusalCodes.filter((code) => !namesItsSubject(code) && !hasSentence(code) && !hasOwn(code)).sort(),
    'a refusal needs words in *.refusals.json',
  ).toEqual(ofFields.trim().split(/\s+/));
  const known = new Set(refusalCodes.flatMap((code) => [code, code.split('.', 1)[0]!]));
  expect(codes.filter((code) => !known.has(code))).toEqual([]);
});
