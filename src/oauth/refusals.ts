// Lists the refusals that pages and programs recognise, each as a code with its English sentence.
import { boundClientRules, certificateMemberRules } from './bound-client-rules.ts';
import type { z } from 'zod';
import { storableClaims } from './claim-names.ts';
import { connectionRules } from './connection-refusals.ts';
import { samlMemberRules, samlRules } from './refusals-of-saml.ts';

/** Rules for members of a user, also in an import. The sentence of a rule for one member begins with the member's name. */
export const userRules = {
  missing: 'is missing',
  invalid: 'is not valid',
  unknown: 'is unknown',
  empty: 'must not be empty',
  'most-characters': 'must have at most 255 characters',
  'control-characters': 'must not contain control characters',
  'invisible-characters': 'must not contain invisible characters',
  'like-sub': 'must not look like a user ID (sub)',
  text: 'must be well-formed text',
  email: 'must be an email address',
  date: 'must be YYYY-MM-DD or YYYY',
  boolean: 'must be true or false',
  status: 'must be enabled or disabled',
  sub: 'must be 1 to 255 printable ASCII characters and not a reserved word',
  'most-groups': 'must have at most 1,000 entries',
  dots: 'must not be . or ..',
} as const;

/** The number of items that a page of a list may have. */
export const maxPageSize = 200;

/** Rules for members of any request. */
const requestRules = {
  string: 'must be a string',
  strings: 'must be an array of strings',
  'in-use': 'is already in use by another user or a client',
  'too-short': 'must have at least {least} characters',
  'too-long': 'must have at most {most} characters',
  'whole-number': 'must be a whole number',
  'whole-seconds': 'must be a whole number of seconds',
  seconds: 'must be a whole number of seconds from {least} to {most}',
  json: 'must be JSON',
  'client-id': 'must have 1 to 255 visible ASCII characters, and be no https URL, no email address, and not . or ..',
  'client-secret': 'must have 1 to 512 printable ASCII characters',
  fixed: 'cannot be changed: delete the object, and create a new one',
  'secret-source': 'must be {env: NAME}, {file: PATH} or generate: a file cannot contain a secret in plain text',
  'page-size': `must be a number from 1 to ${maxPageSize}`,
  'one-of': 'must be one of {values}',
  only: 'must contain only {values}',
  'ip-address': 'must be an IP address',
  'event-id': 'must be the id of an event from the list',
  'made-here': 'is set by the service: leave it out',
  'read-only': 'is set by the service: leave it out, or send it as it was shown',
  reference: 'must be the reference of a page: eight characters from 0 to 9 and from a to f',
  decision: 'must be approve or refuse',
  'refusal-reason': 'is required to refuse',
  invited: 'must not be sent with invite: an invited user chooses a password',
  'product-name': 'must be a name of 1 to 60 characters, without control or direction characters',
  color: 'must be a color such as #0c4a43',
  contrast:
    'must have a contrast of at least 4.5:1 with the page and with white text, and this color has {contrast}:1: choose a darker one',
  'support-url': 'must be an https URL, or mailto: with an email address',
  image: 'must be a PNG or WebP image, in base64',
  'image-size': 'must be an image of at most 256 KiB',
  picture: 'must be a PNG, JPEG or WebP image',
  'picture-size': 'must be an image of at most 1 MiB',
  'picture-edge': 'must have at most 4096 pixels at each edge',
  'picture-damaged': 'is damaged, or contains more than an image: save it again as PNG, JPEG or WebP',
  'picture-moving': 'must not be animated',
  'resource-uri': 'must be an absolute URI of at most 512 characters, without a fragment',
  'detail-type': 'must have 1 to 255 printable ASCII characters without spaces, quotation marks and backslashes',
  'detail-types': 'must contain names of types of authorization details',
  'detail-type-twice': 'must not name a type twice',
  'detail-text': 'must have a sentence in English (en), which other languages fall back to',
  'detail-resource-twice': 'must not name a resource twice',
  'scope-value': 'must have 1 to 100 printable ASCII characters without spaces, quotation marks and backslashes',
  'service-scope': 'must not be a scope of this service',
  'scope-twice': 'must not name a scope twice',
  'https.start': 'must be an https URL without user information or a fragment',
  'site-host': 'must contain only hosts such as app.example.com, without https:// and without a port',
  'site-own-host': 'must not contain the host of this service',
  'open-path':
    'must contain only paths that begin and end with a slash, such as /public/, with letters, digits, dots, hyphens, tildes and underscores between',
  network: 'must contain only IP addresses and networks, such as 192.0.2.0/24, without bits beside the prefix',
  'source-id': 'must have 2 to 40 characters: small letters, digits and hyphens, with a letter first',
  'connection.unknown': 'must name connections by their ids',
  'group.unknown': 'names the group {name}, which does not exist',
  certificate: 'must be a certificate (PEM) with an RSA key of at least 2048 bits, or an EC key',
  'event-pattern':
    'must name types of events, such as user.created, or their beginning with an asterisk, such as user.*',
  'event-none': 'must match types of events: {pattern} matches none',
  'webhook-secret': 'must be whsec_ and the base64 of 24 to 64 bytes',
  'webhook-url':
    'must be an https address outside of the service’s network, without user information or a fragment, and not on port 25',
  'webhook-last-secret': 'must stay: a webhook has at least one secret',
  'target-authorization':
    'must be given, or token_endpoint, client_id and client_secret in its place: a target has one way of both',
  'target-secret': 'must be given again: another server gets it',
  'access-groups': 'must name at least one group where access is groups',
  positive: 'must be a whole number from 1 to 2147483647',
  'claim-name':
    'must be 1 to 255 printable ASCII characters without spaces and quotation marks, and not the name of a claim that only the service sets, such as sub, iss or email_verified',
  'claim-source': 'must be an attribute, a standard claim, groups, roles or constant',
  'claim-constant': 'is required for a constant, and not allowed for other sources',
  'claim-only': 'must have either prefix, which is not empty, or one_of, with 1 to 200 values',
  'claim-places': 'must name id_token, userinfo, introspection or saml, each once',
  'claim-twice': 'create the same claim twice in one place',
  'claims-known': 'must name attributes and standard claims, such as groups, and not sub',
  'role-name': 'must have 1 to 100 characters, without control characters and commas',
  'claim-target': 'must be a standard claim or an attribute',
  'attribute-name':
    'must be 1 to 50 lowercase letters, digits and underscores, begin with a letter, and not be the name of a standard or reserved claim',
  'attribute-type':
    'does not suit the type: choices are for texts, numbers and lists, and only texts and numbers can be unique',
  'attribute.unknown': 'is not defined here',
  'attribute.type': 'has a value of another type than the attribute',
  'attribute.date': 'must be an existing day as YYYY-MM-DD',
  'attribute.text': 'must be text that is not empty, without control characters',
  'attribute.long': 'has more characters than the attribute allows',
  'attribute.many': 'has more entries than the attribute allows',
  'attribute.large': 'is larger than the attribute allows',
  'attribute.choice': 'is not one of the choices',
  'token-claim': 'must have claims that a scope of this service releases, each once',
  domain: 'must contain only domains such as example.com, without @: {domain} is not one',
  language: 'must have language tags as its members, such as en',
  time: 'must be a time such as 2026-12-31T18:00:00Z',
  'sign-up-uses': 'must be a whole number from 1 to 10000',
  'sign-up-end': 'must be in the future, and at most 366 days ahead',
  'clients-twice': 'must not name a client twice',
  'exchange-scope':
    'must be a scope value of 1 to 100 printable ASCII characters, and not a scope for administrators or offline_access',
  'exchange-resource': 'must name resources by their URIs, or the address of UserInfo: {resource} is neither',
  'issuer-link-twice': 'must not name a subject twice',
  'exchange-client': 'must not be a public client, which cannot exchange tokens',
  'sign-up-group': 'must contain no group that gives power: {group} is guarded, or has a role',
  'standard-claims': `must contain only standard claims: ${storableClaims.join(', ')}`,
} as const;

const notAllowed = 'contains a URI that is not allowed:';

/**
 * Rules for one member of client metadata. The code names the fault, and after the dot the rule that found it: a page
 * words the fault, and the sentence here also the rule.
 */
export const clientRules = {
  length: 'must have 1 to {most} characters',
  characters: 'must not contain control, zero-width or direction characters',
  entries: 'must have at most {most} entries',
  'missing.entry': 'is not valid',
  'missing.redirect-uri': 'is missing: register at least one URI',
  'missing.response-type':
    'is missing: list the response types that the client uses, for example id_token for the grant type implicit',
  'choice.algorithm': 'is not a supported algorithm',
  'choice.method': 'is not a supported method',
  'choice.response-type': 'contains an unsupported response type',
  'choice.grant-type': 'contains an unsupported grant type',
  'choice.application-type': 'must be web or native',
  'choice.subject-type': 'must be public or pairwise',
  'choice.profile': 'must be security or message_signing',
  'choice.scope': 'may contain only {scopes}',
  ...certificateMemberRules,
  'web-address':
    'must be an https URL (http on 127.0.0.1, [::1] or localhost only) without user information or a fragment',
  'https.login': 'must be an https URL without user information or a fragment',
  'https.requests': 'must contain only https URLs without user information',
  'localhost.member': 'must not be http on localhost here: use 127.0.0.1',
  'localhost.redirect-uri': `${notAllowed} use http://127.0.0.1 or http://[::1] instead of http://localhost`,
  'address.relative': `${notAllowed} use an absolute URI that begins with https://`,
  'address.fragment': `${notAllowed} remove the fragment (everything from #)`,
  'address.length': `${notAllowed} use a URI of at most 2000 characters`,
  'address.http': `${notAllowed} use https, since http is for {hosts} only`,
  'address.development': `${notAllowed} use https, since http is for private addresses, names without a dot, and .local, .lan, .home.arpa, .test and .internal only`,
  'address.native-scheme': `${notAllowed} use a scheme in reverse-domain form, such as com.example.app:/callback`,
  'address.web-scheme': `${notAllowed} use https, or http on {hosts}; a scheme such as com.example.app:/callback requires application_type native`,
  'address.form': `${notAllowed} write it in normalized form, without user information, wildcards, backslashes, default port or dot segments`,
  resource: 'must contain only absolute URIs without a fragment',
  'own-resource': 'must not contain the issuer or a URI below it: these are resources of this service',
  'key.set': 'must be a JSON Web Key Set',
  'key.most': 'must be a JSON Web Key Set of at most {most} keys',
  'key.public': 'must contain only public keys',
  'key.type': 'has no key of a supported type and curve',
  'key.valid': 'contains an invalid key, or an RSA key without 2048 to 4096 bits and an exponent below 2^32',
  'sector-document.answer': 'must return status 200 and a JSON array, over https and from a public address',
  'sector-document.any':
    'must return status 200 and a JSON array that contains all redirect_uris, over https and from a public address',
} as const;

/** Rules for several members of client metadata; each sentence is whole. */
export const combinationRules = {
  grant: 'grant_types must contain {grant} for these response_types',
  refresh: 'grant_types: refresh_token requires authorization_code or a device code',
  'same-origin': 'frontchannel_logout_uri must have the scheme, host and port of one of the redirect_uris',
  'pairwise.none': 'subject_type pairwise requires an https URI in redirect_uris',
  'pairwise.loopback': 'subject_type pairwise requires an https URI in redirect_uris, or sector_identifier_uri',
  'sector-hosts': 'redirect_uris has several hosts: subject_type pairwise then requires sector_identifier_uri',
  'sector-document.host': 'the host of the sector is too long',
  'sector-document.array': 'the document at sector_identifier_uri must be a JSON array',
  'sector-document.entries': 'the document at sector_identifier_uri must contain all redirect_uris',
  'keys-once': 'jwks and jwks_uri must not both be set',
  'keys.authentication': '{method} requires jwks or jwks_uri',
  'keys.encryption': '{alg} requires jwks or jwks_uri',
  'keys.request-object': 'request_object_signing_alg {alg} requires jwks or jwks_uri',
  'key.authentication':
    '{method} requires a signing key in jwks: RSA, EC with P-256 or OKP with Ed25519, matching token_endpoint_auth_signing_alg if set',
  'encryption-key': 'jwks has no key that {alg} can encrypt to',
  'algorithm.encryption': '{enc} requires {alg}',
  'algorithm.asymmetric': 'token_endpoint_auth_signing_alg must be asymmetric for private_key_jwt',
  'algorithm.symmetric': 'token_endpoint_auth_signing_alg must be HS256 for client_secret_jwt',
  'public.grant': 'a public client cannot use the grant type {grant}',
  'public.signature': 'a public client cannot use HS256 signatures',
  'public.uma': 'uma_profile is for confidential clients only',
  secret: 'HS256 signatures require a client secret',
  request: 'request_object_signing_alg must not be none: request objects must be signed',
  ...boundClientRules,
} as const;

/** Rules for a secret that an administrator gives a client; each sentence is whole. */
const secretRules = {
  'secret.none': 'client_secret: a client with this token_endpoint_auth_method has no secret',
  'secret.weak':
    'client_secret must have at least 32 characters and 128 bits: weak_secret accepts a weaker one until it is renewed',
  'secret.weak-key':
    'client_secret must have at least 32 characters and 128 bits where it is the key of signatures (client_secret_jwt, HS256)',
} as const;

/** Rules for the document of a client (draft-ietf-oauth-client-id-metadata-document); each sentence is whole. */
const documentRules = {
  'document.answer':
    'the document must be answered with status 200 and application/json within 3 seconds, at a public https address, without a redirect, in at most 5 KiB',
  'document.object': 'the document must be a JSON object',
  'document.client-id': 'client_id in the document must be the address of the document, character by character',
  'document.secret': 'the document must not contain a client secret',
  'document.method': 'token_endpoint_auth_method must be {methods} in a document',
  'document.grant': 'grant_types in a document may be {grants}, and not {grant}',
  'document.keys': 'jwks_uri must have the host of the document',
  'document.members': '{member} comes from the document of the client, which alone can change it',
} as const;

/** Rules that only the database can check; each sentence is whole. */
const storedRules = {
  'entity.named': 'the {name} refers to it: change or delete that one first',
  'kept-by-file':
    'the {one} {key} is managed by the configuration files {files}: change it there, or take it over (config take-over)',
  'plan.stale': 'an object of the plan has changed since: plan again',
  'entity.version': 'it has changed since you read it: read it again, then save',
  'attribute.exists': 'there is already an attribute with this name, or the maximum of {most} attributes',
  'attribute.shared': 'two users have the same value: change one of them first',
  'client.taken': 'a client with this client_id exists already',
  'last-administrator': 'this is the last enabled administrator: make another user an administrator first',
  'client.decided': 'nothing of this client is pending approval',
  'client.ended': 'this registration was refused or has expired: the client must register again',
  'client.gone': 'there is no such client',
  'client.names': 'a name has changed since you reviewed it: review the current names, then decide',
  'client.unnamed': 'one of these clients has no name',
  'user.address': 'the user has no email address',
  'user.disabled': 'the user is disabled: enable the user first',
  'user.invitable': 'the user already has a password or a second factor: make a recovery link instead',
  'client.changed': 'the client has changed since you reviewed it: review the current version, then decide',
  'role.exists': 'the client has a role of this name, or {most} roles',
  'role.unknown': 'the client has no such role',
  'resource.taken': 'a resource with this URI, or an equal one, exists already',
  'provisioning-target.taken': 'the client already has a provisioning target',
  'provisioning-target.full': 'there are already {most} provisioning targets',
  'provisioning-target.not-held': 'the provisioning target does not wait for an approval',
  'provisioning-target.more-leaving': '{count} accounts would end now: look again',
  'provisioning-target.disabled': 'the provisioning target is disabled: enable it first',
  'webhook.taken': 'a webhook with this name already exists',
  'webhook.full': 'there are already {most} webhooks',
  'webhook.secrets': 'the webhook already has two secrets: remove one first',
  'webhook.unwanted': 'the webhook does not get events of this type',
  'webhook.no-event': 'there is no event with this id',
  'group.exists': 'a group with this name already exists',
  'group.guarded': 'REQUIRE_SECOND_FACTOR_GROUPS names this group: name the new one there, too, before you rename it',
  'group.large':
    'the group has more than {most} members: rename or delete it with the command line, which does so in steps',
  'trusted-issuer.taken': 'a trusted issuer with this name or this issuer already exists',
  'trusted-issuer.own': 'the issuer must be another one than this service',
  'trusted-issuer.keys': 'a trusted issuer needs either jwks_uri or jwks',
  'trusted-issuer.linked': 'the users of ID-JAGs are found by links: subject must be linked',
  'connected-server.taken': 'a connected server with this name or this issuer already exists',
  'trusted-issuer.domains': 'email_domains must name the domains of the addresses that the issuer can name',
  'authorization-details-type.taken': 'there is a type of authorization details of this name',
  'detail-schema':
    'schema must be a JSON Schema of an object with only the supported keywords, and each value in it needs a type: see {place}',
  'detail-placeholder': 'text names {unknown}, which is no member of the schema with a single value',
  'exchange-policy.taken': 'an exchange policy with this name already exists',
  'sign-up-link.exists': 'there is a sign-up link of this name',
  'scope.most': 'there is already the maximum of {most} scopes',
  'scope.taken': 'an API has a scope of this name, or a client is registered for it already',
  'scope.exists': 'there is a scope of this name',
  'scope.of-claims': '{scope} is a scope for claims: choose another name',
  'scope.in-use': 'clients are registered for this scope: remove it from them first',
  // another client holds a resource that this client claims (decisions section 2); the trigger has the sentence, since plain SQL gets it too
  'resource-held': '{sentence}',
  'host-held': 'another protected site has one of these hosts',
  'site.kind': '{member} is a setting of protected sites only',
  'several-users':
    'this text matches more than one user: use another text for the user, or change the name of one of them',
} as const;

const memberRules = { ...userRules, ...requestRules, ...samlMemberRules, ...clientRules };
type MemberCode = keyof typeof memberRules;
const otherRules = { ...secretRules, ...documentRules, ...samlRules };
const wholeRules = { ...combinationRules, ...otherRules, ...connectionRules, ...storedRules };
type Sentences = typeof memberRules & typeof wholeRules;
export type RefusalCode = keyof Sentences;
export const refusalCodes = Object.keys({ ...memberRules, ...wholeRules }) as RefusalCode[];

/** Why a member of a request is refused, as data. */
export interface Refusal {
  readonly code: RefusalCode;
  /** The parameter or the metadata field, as its path: `contacts.0`. */
  readonly member: string;
  /** What the sentence names between braces. */
  readonly params?: Params | undefined;
  /** The value that is refused, which programs read after the sentence. */
  readonly value?: string;
  /** What else is refused, if this is the first of several. */
  readonly others?: readonly Refusal[];
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

/** Whether the sentence of a refusal is whole, and needs no member before it. */
export const namesItsSubject = (code: RefusalCode): boolean => !isMemberCode(code);

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
export const firstRefusal = (error: z.core.$ZodError, whole: string): Refusal => refusalOf(error.issues[0]!, whole);

/** Returns the first refusal with all others, for a form. */
export function allRefusals({ issues }: z.core.$ZodError, whole: string): Refusal {
  const [first, ...others] = issues.map((issue) => refusalOf(issue, whole));
  return { ...first!, others };
}

function refusalOf(issue: z.core.$ZodIssue, whole: string): Refusal {
  const member = issue.path.map(String).join('.');
  if (member !== '' && 'input' in issue && issue.input === undefined) return refusal('missing', member);
  const fault = faultOf(issue);
  if (fault.code === 'invalid' && issue.code === 'unrecognized_keys')
    return refusal('unknown', /^[\w-]{1,64}$/.test(issue.keys[0]!) ? issue.keys[0]! : 'a member');
  return { ...fault, member: member || whole };
}
