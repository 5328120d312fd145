// What is wrong with a field of a client's form, as a code that the catalogues have a sentence for: the rules themselves speak to programs,
// in English.
import type { FaultCode, FieldFault } from '../../../pages/views/console-clients.ts';
import { clientMetadataShape } from '../../../oauth/client-metadata.ts';
import { memberOf } from './fields.ts';

/** How each refusal reads (oauth/client-metadata.ts and what it asks), the field where it stands if the sentence does not begin with it. */
const sentences: readonly [RegExp, FaultCode, string?][] = [
  [/ is missing| Too small/, 'missing'],
  [/ must be a whole number of seconds from (?<least>\d+) to (?<most>\d+)/, 'seconds'],
  [/ must be JSON$/, 'json'],
  [/ must have at most (?<most>\d+) entries/, 'entries'],
  [/ must have 1 to (?<most>\d+) characters/, 'length'],
  [/ must not hold control/, 'characters'],
  [/ must be an https URL \(http on/, 'web-address'],
  [/ must be an https URL without| must hold https URLs/, 'https'],
  [/ instead of http:..localhost| must not be http on localhost/, 'localhost'],
  [/ holds an address that is not allowed/, 'address'],
  [/ must have scheme, host and port of one of redirect_uris/, 'same-origin'],
  [/ must hold absolute URIs/, 'resource'],
  [/ must not hold the issuer/, 'own-resource'],
  [/^grant_types must hold (?<grant>\w+) for these response_types/, 'grant'],
  [/refresh_token needs authorization_code/, 'refresh', 'grant_types'],
  [/^a public client cannot have the grant/, 'public', 'grant_types'],
  [/^a public client cannot have HS256/, 'public', 'token_endpoint_auth_method'],
  [/^uma_profile is for confidential/, 'public', 'token_endpoint_auth_method'],
  [/^HS256 .* need a client secret/, 'secret', 'token_endpoint_auth_method'],
  [/^jwks and jwks_uri must not both/, 'keys-once', 'jwks'],
  [/^private_key_jwt needs a key/, 'key', 'jwks'],
  [/^private_key_jwt needs jwks/, 'keys', 'jwks'],
  [/^jwks has no key that \w+ can encrypt to/, 'encryption-key'],
  [/^jwks (has no key|holds a key)| must (be a JSON Web Key Set|hold public keys only)/, 'key'],
  [/ needs jwks or jwks_uri/, 'keys'],
  [/_enc needs \w+_alg/, 'algorithm'],
  [/ must (be asymmetric|be HS256) for/, 'algorithm'],
  [/ must not be none/, 'request'],
  [/^redirect_uris has several hosts/, 'sector-hosts'],
  [/^subject_type pairwise needs an https address/, 'pairwise'],
  [/^the host of the sector/, 'sector-document', 'sector_identifier_uri'],
  [/^the document at sector_identifier_uri/, 'sector-document', 'sector_identifier_uri'],
  [/^sector_identifier_uri must answer/, 'sector-document'],
  [
    / is not a supported| that is not supported| may hold .* only| must be (web or native|public or pairwise|true or false|a string|an array of strings)/,
    'choice',
  ],
];

/**
 * The fault that a refusal speaks of, and its field.
 * @returns undefined for one that is about no field
 */
export function faultOf(description: string): { member: string; fault: FieldFault } | undefined {
  for (const [pattern, code, field] of sentences) {
    const match = pattern.exec(description);
    const member = field ?? memberOf(description);
    if (!match || member === undefined) continue;
    return { member, fault: { code, ...(match.groups && { values: { ...match.groups } }) } };
  }
  const member = memberOf(description);
  return member === undefined ? undefined : { member, fault: { code: 'invalid' } };
}

/** What the rules of single fields refuse, the first of each; what fields mean together is parseClientMetadata's. */
export function faultsOf(metadata: Record<string, unknown>): Record<string, FieldFault> {
  const faults: Record<string, FieldFault> = {};
  for (const issue of clientMetadataShape.safeParse(metadata).error?.issues ?? []) {
    const name = String(issue.path[0]);
    faults[name] ??= faultOf(`${name} ${issue.message}`)?.fault ?? { code: 'invalid' };
  }
  return faults;
}
