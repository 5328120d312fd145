// Declares trusted issuers: other authorization servers whose assertions about users get tokens here (RFC 7523).
import { z } from 'zod';
import { clientMetadataShape } from '../oauth/client-metadata.ts';
import { nounName } from '../oauth/display-text.ts';
import { rule } from '../oauth/refusals.ts';
import { isWebUri } from '../oauth/redirect-uri.ts';
import { text } from '../oauth/text.ts';
import { domains } from './connections.ts';
import { entity, type EntityOf, member } from './entity.ts';
import { distinct, entriesOf, tokenScope } from './exchange-policies.ts';
import { lines, type Typing, words } from './field.ts';

/** The algorithms of assertions: every issuer has keys of its own, so none with a shared secret. */
export const issuerAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;

const maxLinks = 1000;
/** Characters of a subject. */
const maxName = 255;
const maxLifetime = 3600; // seconds

const link = z.strictObject({
  subject: text(maxName).min(1, rule('empty')).describe('The user as the issuer names the user (sub).'),
  user: text(maxName).min(1, rule('empty')).describe('The user ID (sub) here.'),
});
export type IssuerLink = z.infer<typeof link>;

/** A link on each line: the subject, and the user ID after the last space. */
const linkLines: Typing = {
  write: (links: readonly IssuerLink[]) => links.map(({ subject, user }) => `${subject} ${user}`).join('\n'),
  read: (typed) =>
    (lines.read(typed) as string[]).map((line) => {
      const [, subject = line, user = ''] = /^(.*\S)\s+(\S+)$/.exec(line) ?? [];
      return { subject, user };
    }),
};

export const trustedIssuers = entity({
  table: 'trusted_issuers',
  one: 'trusted_issuer',
  permission: 'connections',
  section: 'resources',
  called: 'name',
  order: [
    'name',
    'issuer',
    'kind',
    'jwks_uri',
    'jwks',
    'algorithms',
    'subject',
    'links',
    'email_domains',
    'clients',
    'resources',
    'scopes',
    'max_lifetime',
    'status',
  ],
  find: 'id = $1 OR name = $1',
  versioned: true,
  notifies: true,
  members: {
    name: member('What administrators call it. It cannot be changed.', nounName, {
      required: true,
      fixed: true,
      form: 'text',
      list: true,
    }),
    issuer: member(
      'The issuer as its assertions name it (iss), character by character.',
      text(2000).refine((uri) => isWebUri(uri), rule('web-address')),
      { required: true, fixed: true, trust: true, form: 'address', list: true },
    ),
    kind: member(
      'What it signs: assertions (jwt), or ID-JAGs, which name the client and the resource (id_jag, with ID_JAG=on).',
      z.enum(['jwt', 'id_jag']),
      { start: 'jwt', trust: true, form: { kind: 'radio', choices: ['jwt', 'id_jag'] }, list: 'tag' },
    ),
    jwks_uri: member(
      'The address of its public keys, a JWK Set. It has either this or jwks.',
      text(2000).refine((uri) => isWebUri(uri), rule('web-address')),
      { trust: true, form: 'address' },
    ),
    jwks: member('Its public keys, as a JWK Set.', clientMetadataShape.shape.jwks.unwrap(), {
      trust: true,
      form: { kind: 'json', lines: 6 },
    }),
    algorithms: member(
      'The algorithms that sign its assertions.',
      z.array(z.enum(issuerAlgorithms)).min(1, rule('empty')).refine(distinct, rule('invalid')),
      {
        start: ['RS256', 'ES256'],
        trust: true,
        option: 'algorithm',
        form: { kind: 'text', typing: words, most: 100 },
      },
    ),
    subject: member(
      'How the user is found: by a link to the subject of the issuer (linked), or by the confirmed address in the domains of the issuer (email).',
      z.enum(['linked', 'email']),
      { start: 'linked', trust: true, form: { kind: 'radio', choices: ['linked', 'email'] }, list: 'tag' },
    ),
    links: member(
      'The users that the issuer can name. It can also name users whose account is linked to it by a connection.',
      z
        .array(link)
        .max(maxLinks, rule('entries', { most: String(maxLinks) }))
        .refine((all) => distinct(all.map(({ subject }) => subject)), rule('issuer-link-twice')),
      {
        start: [],
        json: true,
        holds: { depth: 2, members: maxLinks * Object.keys(link.shape).length, bytes: maxLinks * 2 * (maxName + 16) },
        trust: true,
        option: 'link',
        form: { kind: 'lines', lines: 4, writing: 'ltr', typing: linkLines },
      },
    ),
    email_domains: member('The domains of the addresses that the issuer can name.', domains, {
      start: [],
      trust: true,
      option: 'email-domain',
      form: { kind: 'lines', lines: 3, writing: 'ltr' },
    }),
    clients: member(
      'The clients that may present its assertions.',
      entriesOf(text(255)).refine(distinct, rule('clients-twice')),
      {
        start: [],
        trust: true,
        refers: 'clients',
        released: true,
        option: 'client',
        form: { kind: 'lines', lines: 3, writing: 'ltr' },
      },
    ),
    resources: member(
      'The URIs of the resources for which its assertions get tokens.',
      entriesOf(text(512)).min(1, rule('empty')),
      {
        required: true,
        trust: true,
        option: 'resource',
        form: { kind: 'lines', lines: 3, picks: 'resources', writing: 'ltr' },
      },
    ),
    scopes: member('The scopes that these tokens may have.', entriesOf(tokenScope).min(1, rule('empty')), {
      required: true,
      trust: true,
      option: 'scope',
      form: { kind: 'lines', lines: 3, writing: 'ltr' },
    }),
    max_lifetime: member(
      'The most seconds for which an assertion is valid, and a token after it.',
      z
        .int(rule('whole-seconds'))
        .min(1, rule('positive'))
        .max(maxLifetime, rule('seconds', { least: '1', most: String(maxLifetime) })),
      { start: 300, form: 'number' },
    ),
    status: member(
      'Whether its assertions get tokens. To disable it ends the tokens that it got.',
      z.enum(['enabled', 'disabled']),
      {
        start: 'enabled',
        form: { kind: 'radio', choices: ['enabled', 'disabled'] },
        list: 'tag',
      },
    ),
  },
});

export type TrustedIssuer = EntityOf<typeof trustedIssuers>;
