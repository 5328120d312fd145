// Lists the refusals that pages and programs recognise, each as a code with its English sentence.
import type { z } from 'zod';
import { storableClaims } from './claims.ts';

/** Rules for members of a user, also in an import. The sentence of a rule for one member begins with the member's name. */
export const userRules = {
  missing: 'is missing',
  invalid: 'is not valid',
  unknown: 'is not known here',
  empty: 'must not be empty',
  'most-characters': 'must have at most 255 characters',
  'control-characters': 'must not hold control characters',
  text: 'must be well-formed text',
  email: 'must be an email address',
  date: 'must be YYYY-MM-DD or YYYY',
  boolean: 'must be true or false',
  status: 'must be enabled or disabled',
  sub: 'must be 1 to 255 printable ASCII characters, and no reserved word',
  'most-groups': 'must be at most 1000',
  dots: 'must not be . or .., which no address can hold',
} as const;

/** The number of items that a page of a list may have. */
export const maxPageSize = 200;

/** Rules for members of any request. */
const requestRules = {
  string: 'must be a string',
  strings: 'must be an array of strings',
  'too-short': 'must have at least {least} characters',
  'too-long': 'must have at most {most} characters',
  'whole-number': 'must be a whole number',
  'whole-seconds': 'must be a whole number of seconds',
  'page-size': `must be a number from 1 to ${maxPageSize}`,
  'one-of': 'must be one of {values}',
  only: 'must hold {values} only',
  'ip-address': 'must be an IP address',
  'event-id': 'must be the id of an event, as the list shows it',
  decision: 'must be approve or refuse',
  'refusal-reason': 'is needed to refuse',
  'standard-claims': `must hold standard claims only: ${storableClaims.join(', ')}`,
} as const;

const notAllowed = 'holds an address that is not allowed:';

/**
 * Rules for one member of client metadata. The code names the fault, and after the dot the rule that found it: a page
 * words the fault, and the sentence here also the rule.
 */
export const clientRules = {
  length: 'must have 1 to {most} characters',
  characters: 'must not hold control, zero-width or direction characters',
  entries: 'must have at most {most} entries',
  'missing.entry': 'is not valid',
  'missing.redirect-uri': 'is missing: register at least one address',
  'missing.response-type':
    'is missing: name those that you will use, with the grant type implicit for example id_token',
  'choice.algorithm': 'is not a supported algorithm',
  'choice.method': 'is not a supported method',
  'choice.response-type': 'holds a response type that is not supported',
  'choice.grant-type': 'holds a grant type that is not supported',
  'choice.application-type': 'must be web or native',
  'choice.subject-type': 'must be public or pairwise',
  'choice.scope': 'may hold {scopes} only',
  'web-address':
    'must be an https URL (http on 127.0.0.1, [::1] or localhost only) without user information or a fragment',
  'https.login': 'must be an https URL without user information or a fragment',
  'https.requests': 'must hold https URLs without user information',
  'localhost.member': 'must not be http on localhost here: use 127.0.0.1',
  'localhost.redirect-uri': `${notAllowed} use http://127.0.0.1 or http://[::1] instead of http://localhost`,
  'address.relative': `${notAllowed} use an absolute address that begins with https://`,
  'address.fragment': `${notAllowed} leave out the fragment (the part from # on)`,
  'address.length': `${notAllowed} use an address of at most 2000 characters`,
  'address.http': `${notAllowed} use https, since http is for {hosts} only`,
  'address.native-scheme': `${notAllowed} use a scheme in reverse-domain form, such as com.example.app:/callback`,
  'address.web-scheme': `${notAllowed} use https, or http on {hosts}; a scheme such as com.example.app:/callback needs application_type native`,
  'address.form': `${notAllowed} write it as browsers do, without user information, wildcards, backslashes, default port or dot segments`,
  resource: 'must hold absolute URIs without a fragment',
  'own-resource': 'must not hold the issuer or an address below it: these are resources of this service itself',
  'key.set': 'must be a JSON Web Key Set',
  'key.most': 'must be a JSON Web Key Set of at most {most} keys',
  'key.public': 'must hold public keys only',
  'key.type': 'has no key of a supported type and curve',
  'key.valid':
    'holds a key that is not a valid one, or an RSA key that has not 2048 to 4096 bits and an exponent below 2^32',
  'sector-document.answer': 'must answer with 200 and a JSON array, over https and from a public address',
} as const;

/** Rules for several members of client metadata; each sentence is whole. */
export const combinationRules = {
  grant: 'grant_types must hold {grant} for these response_types',
  refresh: 'grant_types: refresh_token needs authorization_code',
  'same-origin': 'frontchannel_logout_uri must have scheme, host and port of one of redirect_uris',
  'pairwise.none': 'subject_type pairwise needs an https address in redirect_uris',
  'pairwise.loopback': 'subject_type pairwise needs an https address in redirect_uris, or sector_identifier_uri',
  'sector-hosts': 'redirect_uris has several hosts: subject_type pairwise then needs sector_identifier_uri',
  'sector-document.host': 'the host of the sector is longer than a host name can be',
  'sector-document.array': 'the document at sector_identifier_uri must be a JSON array',
  'sector-document.entries': 'the document at sector_identifier_uri must hold every one of redirect_uris',
  'keys-once': 'jwks and jwks_uri must not both be there',
  'keys.authentication': 'private_key_jwt needs jwks or jwks_uri',
  'keys.encryption': '{alg} needs jwks or jwks_uri',
  'keys.request-object': 'request_object_signing_alg {alg} needs jwks or jwks_uri',
  'key.authentication':
    'private_key_jwt needs a key for signatures in jwks: RSA, EC with P-256 or OKP with Ed25519, and that of token_endpoint_auth_signing_alg if you name one',
  'encryption-key': 'jwks has no key that {alg} can encrypt to',
  'algorithm.encryption': '{enc} needs {alg}',
  'algorithm.asymmetric': 'token_endpoint_auth_signing_alg must be asymmetric for private_key_jwt',
  'algorithm.symmetric': 'token_endpoint_auth_signing_alg must be HS256 for client_secret_jwt',
  'public.grant': 'a public client cannot have the grant client_credentials',
  'public.signature': 'a public client cannot have HS256 signatures',
  'public.uma': 'uma_profile is for confidential clients only',
  secret: 'HS256 signatures need a client secret',
  request: 'request_object_signing_alg must not be none: request objects have to be signed',
} as const;

/** Rules that only the database can check; each sentence is whole. */
const storedRules = {
  // another client holds a resource that this client claims (decisions section 2); the trigger has the sentence, since plain SQL gets it too
  'resource-held': '{sentence}',
} as const;

const memberRules = { ...userRules, ...requestRules, ...clientRules };
type MemberCode = keyof typeof memberRules;
const wholeRules = { ...combinationRules, ...storedRules };
type Sentences = typeof memberRules & typeof wholeRules;
export type RefusalCode = keyof Sentences;

/** Why a member of a request is refused, as data. */
export interface Refusal {
  readonly code: RefusalCode;
  /** The parameter or the metadata field, as its path: `contacts.0`. */
  readonly member: string;
  /** What the sentence names between braces. */
  readonly params?: Params | undefined;
}
type Params = Readonly<Record<string, string>>;

/** The names between braces in a sentence. */
type Names<Sentence> = Sentence extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
type ParamsOf<Code extends RefusalCode> = [Names<Sentences[Code]>] extends [never]
  ? []
  : [params: Readonly<Record<Names<Sentences[Code]>, string>>];

export const refusal = <Code extends RefusalCode>(
  code: Code,
  member: string,
  ...[params]: ParamsOf<Code>
): Refusal => ({
  code,
  member,
  params,
});

/** The English sentence, without capital letter and full stop. */
export function sentenceOf({ code, member, params = {} }: Refusal): string {
  const sentence = isMemberCode(code) ? `${member} ${memberRules[code]}` : wholeRules[code];
  return sentence.replace(/\{(\w+)\}/g, (_braces, name: string) => params[name]!);
}

const isMemberCode = (code: string): code is MemberCode => Object.hasOwn(memberRules, code);

/** The error of a zod rule. From a built-in rule that fails, zod passes on a message only: the message is the rule's code. */
export const rule = (code: MemberCode, params?: Params) => ({ error: code, params });

/** Returns the code of the rule that found an issue, and what its sentence names; `invalid` for a rule without a code. */
export function faultOf(issue: z.core.$ZodIssue): Pick<Refusal, 'code' | 'params'> {
  const code = isMemberCode(issue.message) ? issue.message : 'invalid';
  if (issue.code === 'custom') return { code, params: issue.params as Params | undefined };
  if (issue.code === 'too_big') return { code, params: { most: String(issue.maximum) } };
  if (issue.code === 'invalid_value') return { code, params: { values: issue.values.join(', ') } };
  return { code };
}

/**
 * Returns the first refusal of a failed parse. A parse with `reportInput` distinguishes a missing member from a wrong one.
 * @param whole the subject of the sentence where no member is at fault
 */
export function firstRefusal(error: z.core.$ZodError, whole: string): Refusal {
  const issue = error.issues[0]!;
  const member = issue.path.map(String).join('.');
  if (member !== '' && 'input' in issue && issue.input === undefined) return refusal('missing', member);
  const fault = faultOf(issue);
  if (fault.code === 'invalid' && issue.code === 'unrecognized_keys')
    return refusal('unknown', /^[\w-]{1,64}$/.test(issue.keys[0]!) ? issue.keys[0]! : 'a member');
  return { ...fault, member: member || whole };
}
