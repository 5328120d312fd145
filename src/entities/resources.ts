// Declares resources: APIs with scopes of their own, for which clients request tokens (RFC 8707, RFC 6749 3.3).
import { z } from 'zod';
import { acr } from '../rules/users/administration.ts';
import { resourceBindings } from '../oauth/binding.ts';
import { releasableClaims } from '../oauth/claim-names.ts';
import { displayText } from '../oauth/display-text.ts';
import { languageTag } from '../oauth/language-tag.ts';
import { isResourceUri } from '../oauth/redirect-uri.ts';
import { rule } from '../oauth/refusals.ts';
import { scopeWord } from '../rules/claims/claim-shapes.ts';
import { text } from '../oauth/text.ts';
import { column, entity, type EntityOf, member } from './entity.ts';
import { type Typing, words } from './field.ts';

/** Characters; a token request with a longer resource would be of no use to most clients. */
const maxUri = 512;
const maxScopes = 100;
/** Languages in which every scope can be described: more than the pages have. */
const describedIn = 20;
const ofTokens = 'It says how tokens are made.';
const maxLifetime = 366 * 86_400; // seconds

const scope = z.strictObject({
  value: scopeWord,
  description: z.record(languageTag, displayText).optional().describe('What the scope allows, by language.'),
});

/** The descriptions of each scope value, by language. */
export type ResourceScopes = Record<string, Record<string, string>>;

const byValue = {
  read: (scopes: z.infer<typeof scope>[]): ResourceScopes =>
    Object.fromEntries(scopes.map(({ value, description }) => [value, description ?? {}])),
  show: (scopes: ResourceScopes) => Object.entries(scopes).map(([value, description]) => ({ value, description })),
};

/** A scope on each line: its value, a language in brackets for another one than English, and the description. */
const scopeLines: Typing = {
  write: (scopes: z.infer<typeof scope>[]) =>
    scopes
      .flatMap(({ value, description = {} }) => {
        const texts = Object.entries(description);
        if (texts.length === 0) return [value];
        return texts.map(([language, text]) =>
          language === 'en' ? `${value} ${text}` : `${value} [${language}] ${text}`,
        );
      })
      .join('\n'),
  read(text) {
    const scopes = new Map<string, Record<string, string>>();
    for (const line of text.split(/\r?\n/).map((one) => one.trim())) {
      const [, value, language = 'en', said = ''] = /^(\S+)(?:\s+\[([^\]]*)\])?(?:\s+(.*))?$/.exec(line) ?? [];
      if (value === undefined) continue;
      const texts = scopes.get(value) ?? {};
      scopes.set(value, said === '' ? texts : { ...texts, [language]: said });
    }
    return [...scopes].map(([value, description]) => ({ value, description }));
  },
};

export const resources = entity({
  table: 'resources',
  one: 'resource',
  permission: 'resources',
  section: 'resources',
  called: 'name',
  order: [
    'name',
    'resource',
    'scopes',
    'clients',
    'client_id',
    'access_token_format',
    'binding',
    'access_token_lifetime',
    'token_claims',
    'public',
  ],
  find: 'id = $1 OR resource_key(resource) = resource_key($1)',
  marks: 'registered = false',
  notifies: true,
  members: {
    resource: member(
      'The URI that clients name as resource, and the audience of the tokens.',
      z.string(rule('string')).refine((uri) => uri.length <= maxUri && isResourceUri(uri), rule('resource-uri')),
      { required: true, fixed: true, form: { kind: 'address', most: maxUri }, list: true },
    ),
    name: member('The name that users see.', displayText, { required: true, form: 'text', list: true }),
    client_id: member(
      'The client that introspects the tokens of the resource. A resource without one cannot introspect.',
      text(255),
      { option: 'client', refers: 'clients', released: true, form: 'text' },
    ),
    scopes: member(
      'The scopes of the resource.',
      z
        .array(scope)
        .max(maxScopes, rule('entries', { most: String(maxScopes) }))
        .refine((all) => new Set(all.map(({ value }) => value)).size === all.length, rule('scope-twice')),
      {
        start: {},
        convert: byValue,
        holds: { depth: 3, members: maxScopes * (Object.keys(scope.shape).length + describedIn) },
        option: 'scope',
        form: { kind: 'lines', lines: 5, writing: 'auto', typing: scopeLines },
        list: (scopes: z.infer<typeof scope>[]) => scopes.map(({ value }) => value).join(' '),
      },
    ),
    clients: member(
      'Who may request tokens: clients that are registered for one of the scopes (listed), or every enabled client (approved).',
      z.enum(['listed', 'approved']),
      { start: 'listed', form: 'radio' },
    ),
    access_token_format: member(
      'The format of access tokens: the resource introspects opaque ones, and verifies JWTs with the published keys (RFC 9068).',
      z.enum(['opaque', 'jwt']),
      { start: 'opaque', form: 'radio', noSecret: ofTokens },
    ),
    access_token_signing_alg: member(
      'The algorithm that signs JWT access tokens.',
      z.enum(['RS256', 'PS256', 'ES256', 'EdDSA']),
      { start: 'RS256', noSecret: ofTokens },
    ),
    access_token_lifetime: member(
      'The maximum lifetime of tokens for the resource, in seconds. For JWTs the default is 300, and the maximum 3600.',
      z.int().min(1).max(maxLifetime),
      { form: 'number', noSecret: ofTokens },
    ),
    required_acr: member(
      'The level of authentication (acr) that users must reach before a client gets tokens for the resource.',
      acr,
    ),
    binding: member(
      'Whether tokens must be bound to a key of the client: not (none), by any means (any), by DPoP proofs (dpop), or by the certificate of the connection (mtls).',
      z.enum(resourceBindings),
      { start: 'none', form: { kind: 'radio', choices: ['none', 'dpop', 'mtls', 'any'] } },
    ),
    token_claims: member(
      'The claims of users that JWT access tokens contain. A token has those that its scope releases: groups, for example, with the scope groups.',
      z
        .array(z.enum(releasableClaims, rule('token-claim')))
        .refine((all) => new Set(all).size === all.length, rule('token-claim')),
      { start: [], option: 'token-claim', noSecret: ofTokens, form: { kind: 'text', typing: words, most: 1000 } },
    ),
    public: member(
      'Whether the metadata of the service name the resource and its scopes, for everyone to see (RFC 9728 4).',
      z.boolean(),
      { start: false, form: 'check' },
    ),
  },
  row: {
    registered: column<boolean>(
      z.boolean().describe('Whether a client registered it in resource_uris, and no administrator has changed it.'),
    ),
  },
});

export type Resource = EntityOf<typeof resources>;
